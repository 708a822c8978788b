import { useState } from "react";

const OPTIONS = @options;
const EXTRA = @extra_price;

export default function Configurator() {
  const [chosen, setChosen] = useState(OPTIONS[0][0]);
  const [extra, setExtra] = useState(false);
  const base = Number(OPTIONS.find(([name]) => name === chosen)[1]);
  const price = base + (extra ? EXTRA : 0);

  return (
    <main className="mx-auto mt-10 max-w-sm rounded-2xl bg-white p-8 shadow-lg">
      <h1 className="mb-6 text-2xl font-bold">@title</h1>
      <label className="mb-4 flex flex-col gap-1">
        @choice
        <select className="rounded border border-gray-300 p-2" value={chosen} onChange={(e) => setChosen(e.target.value)}>
          {OPTIONS.map(([name]) => (
            <option key={name} value={name}>{name}</option>
          ))}
        </select>
      </label>
      <label className="mb-6 flex items-center gap-2">
        <input type="checkbox" checked={extra} onChange={(e) => setExtra(e.target.checked)} />
        @extra
      </label>
      <p className="rounded-lg bg-@tone-100 p-4 text-center text-xl font-semibold">Price: €{price}</p>
    </main>
  );
}
