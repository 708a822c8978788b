import { useState } from "react";

const BARS = @bars;
const HIGHEST = Math.max(...BARS.map(([, value]) => Number(value)));

export default function BarChart() {
  const [table, setTable] = useState(false);

  return (
    <figure className="mx-auto mt-10 max-w-2xl p-6">
      <h2 className="mb-6 text-2xl font-bold">@title</h2>
      {table ? (
        <table className="w-full text-left">
          <tbody>
            {BARS.map(([name, value]) => (
              <tr key={name} className="border-b border-gray-300">
                <th scope="row" className="p-2">{name}</th>
                <td className="p-2">{value} @unit</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        BARS.map(([name, value]) => (
          <div key={name} className="mb-3 flex items-center gap-4">
            <span className="w-32 text-right">{name}</span>
            <div className="flex-1">
              <div className="h-8 rounded-r-lg bg-@tone-500" style={{ width: `${(100 * value) / HIGHEST}%` }} />
            </div>
            <span className="w-28">{value} @unit</span>
          </div>
        ))
      )}
      <button className="mt-4 rounded border border-gray-300 px-4 py-2" onClick={() => setTable(!table)}>@as_table</button>
    </figure>
  );
}
