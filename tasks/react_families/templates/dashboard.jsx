import { useState } from "react";

const TILES = @tiles;
const VIEWS = ["@now", "@then"];

export default function Dashboard() {
  const [view, setView] = useState(0);

  return (
    <main className="mx-auto max-w-4xl p-8">
      <header className="mb-6 flex items-center justify-between">
        <h1 className="text-3xl font-bold">@title</h1>
        <div className="flex gap-2">
          {VIEWS.map((name, i) => (
            <button
              key={name}
              className={`rounded-lg px-4 py-2 ${i === view ? "bg-@tone-600 text-white" : "bg-gray-100"}`}
              onClick={() => setView(i)}
            >
              {name}
            </button>
          ))}
        </div>
      </header>
      <div className="grid grid-cols-3 gap-6">
        {TILES.map(([label, ...values]) => (
          <section key={label} className="rounded-2xl bg-@tone-50 p-6">
            <h2 className="text-gray-600">{label}</h2>
            <p className="mt-2 text-4xl font-bold">{values[view]}</p>
          </section>
        ))}
      </div>
    </main>
  );
}
