import { useState } from "react";

const ITEMS = @items;

export default function Cart() {
  const [counts, setCounts] = useState(ITEMS.map(() => 1));
  const total = ITEMS.reduce((sum, [, price], i) => sum + Number(price) * counts[i], 0);
  const change = (index, by) =>
    setCounts(counts.map((count, i) => (i === index ? Math.max(0, count + by) : count)));

  return (
    <main className="mx-auto mt-10 max-w-xl rounded-xl bg-white p-8 shadow">
      <h1 className="mb-4 text-2xl font-bold">@title</h1>
      <ul className="divide-y divide-gray-200">
        {ITEMS.map(([name, price], i) => (
          <li key={name} className="flex items-center gap-3 py-4">
            <span className="flex-1 font-medium">{name}</span>
            <span className="text-gray-500">€{price}</span>
            <button className="rounded border border-gray-300 px-2 py-1 text-sm" onClick={() => change(i, -1)}>@less</button>
            <span className="w-6 text-center">{counts[i]}</span>
            <button className="rounded border border-gray-300 px-2 py-1 text-sm" onClick={() => change(i, 1)}>@more</button>
          </li>
        ))}
      </ul>
      <p className="mt-4 text-right text-xl font-semibold">Total: €{total}</p>
      <button className="mt-4 w-full rounded-lg bg-@tone-600 py-3 font-semibold text-white">@pay</button>
    </main>
  );
}
