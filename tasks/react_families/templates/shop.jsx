import { useState } from "react";

const ITEMS = @items;

export default function Shop() {
  const [cart, setCart] = useState([]);
  const [query, setQuery] = useState("");
  const [paid, setPaid] = useState(false);
  const shown = ITEMS.filter(([name]) => name.toLowerCase().includes(query.toLowerCase()));

  const add = (name) => {
    setPaid(false);
    setCart([...cart, name]);
  };
  const pay = () => {
    setPaid(true);
    setCart([]);
  };

  return (
    <main className="mx-auto max-w-4xl p-8">
      <header className="mb-6 flex items-center gap-4">
        <h1 className="flex-1 text-3xl font-bold">@title</h1>
        <span className="rounded-full bg-@tone-100 px-4 py-2">Cart: {cart.length}</span>
        <button className="rounded-full bg-@tone-600 px-5 py-2 text-white" onClick={pay}>@pay</button>
      </header>
      {paid && <p role="status" className="mb-4 rounded bg-green-50 p-3 text-green-800">@done</p>}
      <label className="mb-6 flex flex-col text-sm">
        @search
        <input type="text" className="rounded border border-gray-300 p-2" value={query} onChange={(e) => setQuery(e.target.value)} />
      </label>
      <div className="grid grid-cols-4 gap-4">
        {shown.map(([name, price]) => (
          <article key={name} className="rounded-2xl border border-gray-300 p-4 text-center">
            <div className="mb-3 h-24 rounded-xl bg-@tone-50" />
            <h2 className="font-semibold">{name}</h2>
            <p className="mb-3 text-gray-500">€{price}</p>
            <button className="w-full rounded border border-gray-300 py-1" onClick={() => add(name)}>@add</button>
          </article>
        ))}
      </div>
    </main>
  );
}
