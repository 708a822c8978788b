import { useState } from "react";

const DAYS = @days;

export default function Planner() {
  const [entries, setEntries] = useState([]);
  const [day, setDay] = useState(DAYS[0]);
  const [draft, setDraft] = useState("");

  const add = (event) => {
    event.preventDefault();
    if (!draft.trim()) return;
    setEntries([...entries, { day, what: draft.trim() }]);
    setDraft("");
  };

  return (
    <main className="p-8">
      <div className="mb-4 flex items-baseline gap-6">
        <h1 className="text-3xl font-bold">@title</h1>
        <p className="text-gray-600">Planned: {entries.length}</p>
      </div>
      <form onSubmit={add} className="mb-6 flex items-end gap-3">
        <label className="flex flex-col text-sm">
          @choice
          <select className="rounded border border-gray-300 p-2" value={day} onChange={(e) => setDay(e.target.value)}>
            {DAYS.map((d) => (
              <option key={d}>{d}</option>
            ))}
          </select>
        </label>
        <label className="flex flex-col text-sm">
          @label
          <input type="text" className="rounded border border-gray-300 p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
        </label>
        <button className="rounded bg-@tone-600 px-4 py-2 text-white">@add</button>
        <button type="button" className="rounded border border-gray-300 px-4 py-2" onClick={() => setEntries([])}>@clear</button>
      </form>
      <div className="flex gap-4">
        {DAYS.map((d) => (
          <section key={d} className="min-h-48 flex-1 rounded-xl bg-@tone-50 p-4">
            <h2 className="mb-2 font-semibold">{d}</h2>
            <ul>
              {entries.filter((entry) => entry.day === d).map((entry, i) => (
                <li key={i} className="mb-2 rounded bg-white p-2 shadow-sm">{entry.what}</li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </main>
  );
}
