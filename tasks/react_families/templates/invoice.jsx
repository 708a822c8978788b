import { useState } from "react";

const LINES = @lines;

export default function Invoice() {
  const [lines, setLines] = useState(
    LINES.map(([name, count, price]) => ({ name, count: Number(count), price: Number(price) })),
  );
  const [paid, setPaid] = useState(false);
  const total = lines.reduce((sum, line) => sum + line.count * line.price, 0);
  const setCount = (index, count) => setLines(lines.map((line, i) => (i === index ? { ...line, count } : line)));

  return (
    <main className="mx-auto mt-8 max-w-2xl rounded-xl border border-gray-300 bg-white p-8">
      <div className="mb-6 flex items-baseline justify-between">
        <h1 className="text-2xl font-bold">@title</h1>
        <p className="text-gray-500">Lines: {lines.length}</p>
      </div>
      <table className="mb-4 w-full text-left">
        <thead>
          <tr className="border-b-2 border-@tone-500">
            <th className="py-2">@one</th>
            <th className="py-2">@two</th>
            <th className="py-2">@three</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, i) => (
            <tr key={i} className="border-b border-gray-300">
              <td className="py-2">{line.name || "New line"}</td>
              <td className="py-2">
                <input
                  type="number"
                  aria-label={`@two, line ${i + 1}`}
                  className="w-24 rounded border border-gray-300 p-1"
                  value={line.count}
                  onChange={(e) => setCount(i, Number(e.target.value))}
                />
              </td>
              <td className="py-2">€{line.price}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mb-6 text-right text-xl font-semibold">Total due: €{total}</p>
      <div className="flex items-center gap-3">
        <button
          className="rounded border border-gray-300 px-4 py-2"
          onClick={() => setLines([...lines, { name: "", count: 0, price: 0 }])}
        >
          @add
        </button>
        <button className="rounded bg-@tone-600 px-4 py-2 text-white" onClick={() => setPaid(true)}>@paid</button>
        {paid && <strong className="text-green-700">@stamp</strong>}
      </div>
    </main>
  );
}
