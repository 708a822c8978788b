import { useState } from "react";

const TALKS = @talks;
const FILTERS = ["All sessions", ...@tracks];

export default function Agenda() {
  const [filter, setFilter] = useState(FILTERS[0]);
  const [mine, setMine] = useState([]);
  const shown = TALKS.filter(([, , track]) => filter === FILTERS[0] || filter === track);

  return (
    <main className="mx-auto mt-8 max-w-2xl p-6">
      <div className="mb-4 flex items-baseline justify-between">
        <h1 className="text-3xl font-bold">@title</h1>
        <p className="rounded-full bg-@tone-100 px-4 py-1">My agenda: {mine.length}</p>
      </div>
      <div className="mb-6 flex gap-2">
        {FILTERS.map((name) => (
          <button
            key={name}
            className={`rounded-lg px-4 py-2 ${name === filter ? "bg-gray-900 text-white" : "bg-gray-100"}`}
            onClick={() => setFilter(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <ul className="space-y-3">
        {shown.map(([talk, time, track]) => (
          <li key={talk} className="flex items-center gap-4 rounded-xl border border-gray-300 p-4">
            <time className="font-mono text-@tone-700">{time}</time>
            <div className="flex-1">
              <p className="font-semibold">{talk}</p>
              <p className="text-sm text-gray-500">{track}</p>
            </div>
            <button
              className="rounded border border-gray-300 px-3 py-1 disabled:opacity-40"
              disabled={mine.includes(talk)}
              onClick={() => setMine([...mine, talk])}
            >
              @add
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}
