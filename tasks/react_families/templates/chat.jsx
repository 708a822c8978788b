import { useState } from "react";

const PEOPLE = @people;

export default function Messenger() {
  const [threads, setThreads] = useState(PEOPLE.map(([, message]) => [{ mine: false, message }]));
  const [active, setActive] = useState(0);
  const [draft, setDraft] = useState("");
  const thread = threads[active];

  const send = (event) => {
    event.preventDefault();
    if (!draft.trim()) return;
    setThreads(threads.map((t, i) => (i === active ? [...t, { mine: true, message: draft.trim() }] : t)));
    setDraft("");
  };

  return (
    <main className="mx-auto mt-6 max-w-3xl p-6">
      <h1 className="mb-4 text-2xl font-bold">@title</h1>
      <div className="flex h-96 overflow-hidden rounded-2xl border border-gray-300">
        <div className="flex w-48 flex-col bg-gray-50">
          {PEOPLE.map(([name], i) => (
            <button
              key={name}
              className={`p-4 text-left ${i === active ? "bg-@tone-100 font-semibold" : ""}`}
              onClick={() => setActive(i)}
            >
              {name}
            </button>
          ))}
        </div>
        <section className="flex flex-1 flex-col p-4">
          <p className="mb-2 text-sm text-gray-500">
            {thread.length} {thread.length === 1 ? "message" : "messages"}
          </p>
          <ul className="flex-1 space-y-2 overflow-auto">
            {thread.map(({ mine, message }, i) => (
              <li key={i} className={`w-fit rounded-xl p-3 ${mine ? "ml-auto bg-@tone-600 text-white" : "bg-gray-100"}`}>
                {message}
              </li>
            ))}
          </ul>
          <form onSubmit={send} className="flex items-end gap-2">
            <label className="flex flex-1 flex-col text-sm">
              @label
              <input type="text" className="rounded border border-gray-300 p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
            </label>
            <button className="rounded bg-@tone-700 px-4 py-2 text-white">@send</button>
          </form>
        </section>
      </div>
    </main>
  );
}
