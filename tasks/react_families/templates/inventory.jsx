import { useState } from "react";

const ITEMS = @items;

export default function Inventory() {
  const [items, setItems] = useState(ITEMS.map(([name, units]) => ({ name, units: Number(units) })));
  const [onlyLow, setOnlyLow] = useState(false);
  const total = items.reduce((sum, item) => sum + item.units, 0);
  const shown = onlyLow ? items.filter((item) => item.units <= 5) : items;

  const restock = (name) =>
    setItems(items.map((item) => (item.name === name ? { ...item, units: item.units + 10 } : item)));

  return (
    <main className="mx-auto mt-8 max-w-2xl p-6">
      <div className="mb-4 flex items-baseline justify-between">
        <h1 className="text-2xl font-bold">@title</h1>
        <p className="text-gray-600">Units in stock: {total}</p>
      </div>
      <label className="mb-4 flex items-center gap-2">
        <input type="checkbox" checked={onlyLow} onChange={(e) => setOnlyLow(e.target.checked)} />
        @only_low
      </label>
      <table className="w-full text-left">
        <thead className="bg-@tone-100">
          <tr>
            <th className="p-3">Item</th>
            <th className="p-3">Units</th>
            <th className="p-3">Action</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((item) => (
            <tr key={item.name} className="border-b border-gray-300">
              <td className="p-3">
                {item.name}
                {item.units <= 5 && (
                  <span className="ml-2 rounded bg-red-100 px-2 text-xs text-red-700">Low</span>
                )}
              </td>
              <td className="p-3 font-mono">{item.units}</td>
              <td className="p-3">
                <button className="rounded border border-gray-300 px-3 py-1 text-sm" onClick={() => restock(item.name)}>@restock</button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </main>
  );
}
