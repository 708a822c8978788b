import { useState } from "react";

const ITEMS = @items;

export default function SearchList() {
  const [query, setQuery] = useState("");
  const found = ITEMS.filter((item) => item.toLowerCase().includes(query.trim().toLowerCase()));

  return (
    <main className="mx-auto mt-10 max-w-md p-6">
      <h1 className="mb-4 text-3xl font-bold text-@tone-800">@title</h1>
      <label className="mb-4 block text-sm text-gray-600">
        @label
        <input
          type="text"
          className="mt-1 w-full rounded-lg border border-gray-300 p-3 text-base"
          value={query}
          onChange={(e) => setQuery(e.target.value)}
        />
      </label>
      <ul className="space-y-2">
        {found.map((item) => (
          <li key={item} className="rounded-lg bg-@tone-50 px-4 py-3">{item}</li>
        ))}
      </ul>
      {found.length === 0 && <p className="text-gray-500">Nothing matches.</p>}
    </main>
  );
}
