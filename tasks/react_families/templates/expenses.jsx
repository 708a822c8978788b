import { useState } from "react";

const ENTRIES = @entries;

export default function Expenses() {
  const [entries, setEntries] = useState(ENTRIES.map(([name, amount], id) => ({ id, name, amount: Number(amount) })));
  const [name, setName] = useState("");
  const [amount, setAmount] = useState(10);
  const total = entries.reduce((sum, entry) => sum + entry.amount, 0);

  const add = (event) => {
    event.preventDefault();
    const id = entries.reduce((highest, entry) => Math.max(highest, entry.id), 0) + 1;
    setEntries([...entries, { id, name: name.trim() || "Other", amount }]);
    setName("");
  };

  return (
    <main className="mx-auto mt-8 max-w-xl rounded-2xl bg-white p-8 shadow">
      <h1 className="mb-6 text-2xl font-bold">@title</h1>
      <form onSubmit={add} className="mb-6 flex items-end gap-3">
        <label className="flex flex-1 flex-col text-sm">
          @what
          <input type="text" className="rounded border border-gray-300 p-2" value={name} onChange={(e) => setName(e.target.value)} />
        </label>
        <label className="flex w-28 flex-col text-sm">
          @amount
          <input
            type="number"
            className="rounded border border-gray-300 p-2"
            value={amount}
            onChange={(e) => setAmount(Number(e.target.value))}
          />
        </label>
        <button className="rounded bg-@tone-600 px-4 py-2 text-white">@add</button>
      </form>
      <ul className="divide-y divide-gray-200">
        {entries.map((entry) => (
          <li key={entry.id} className="flex items-center gap-4 py-3">
            <span className="flex-1">{entry.name}</span>
            <span className="font-mono">€{entry.amount}</span>
            <button
              className="text-sm text-red-600"
              onClick={() => setEntries(entries.filter((other) => other !== entry))}
            >
              @remove
            </button>
          </li>
        ))}
      </ul>
      <p className="mt-4 border-t border-gray-300 pt-4 text-right text-xl font-semibold">Total: €{total}</p>
    </main>
  );
}
