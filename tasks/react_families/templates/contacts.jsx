import { useState } from "react";

const PEOPLE = @people;

export default function Contacts() {
  const [people, setPeople] = useState(PEOPLE);
  const [open, setOpen] = useState(null);
  const [draft, setDraft] = useState("");
  const [query, setQuery] = useState("");
  const shown = people.filter(([name]) => name.toLowerCase().includes(query.toLowerCase()));

  const add = (event) => {
    event.preventDefault();
    if (!draft.trim()) return;
    setPeople([...people, [draft.trim(), "No number yet"]]);
    setDraft("");
  };

  return (
    <main className="mx-auto mt-8 max-w-lg p-6">
      <div className="mb-4 flex items-baseline justify-between">
        <h1 className="text-2xl font-bold">@title</h1>
        <p className="text-gray-500">{people.length} contacts</p>
      </div>
      <label className="mb-4 flex flex-col text-sm">
        @search
        <input type="text" className="rounded border border-gray-300 p-2" value={query} onChange={(e) => setQuery(e.target.value)} />
      </label>
      <ul className="mb-6 divide-y divide-gray-200 rounded-xl border border-gray-300">
        {shown.map(([name, phone]) => (
          <li key={name}>
            <button className="w-full p-3 text-left font-medium" onClick={() => setOpen(open === name ? null : name)}>
              {name}
            </button>
            {open === name && <p className="bg-@tone-50 p-3">{phone}</p>}
          </li>
        ))}
      </ul>
      <form onSubmit={add} className="flex items-end gap-2">
        <label className="flex flex-1 flex-col text-sm">
          @label
          <input type="text" className="rounded border border-gray-300 p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
        </label>
        <button className="rounded bg-@tone-600 px-4 py-2 text-white">@add</button>
      </form>
    </main>
  );
}
