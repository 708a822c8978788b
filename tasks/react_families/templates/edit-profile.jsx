import { useState } from "react";

export default function EditableProfile() {
  const [name, setName] = useState("@name");
  const [draft, setDraft] = useState(name);
  const [editing, setEditing] = useState(false);

  const save = () => {
    setName(draft);
    setEditing(false);
  };

  return (
    <section className="mx-auto mt-10 w-96 rounded-xl border-t-4 border-@tone-500 bg-white p-6 shadow">
      <p className="mb-4 text-sm uppercase tracking-wide text-gray-500">@title</p>
      {editing ? (
        <>
          <label className="block">
            @field
            <input className="mb-4 mt-1 w-full rounded border border-gray-300 p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
          </label>
          <button className="rounded bg-@tone-600 px-4 py-2 text-white" onClick={save}>@save</button>
        </>
      ) : (
        <>
          <h2 className="text-2xl font-bold">{name}</h2>
          <p className="mb-4 text-gray-500">@detail</p>
          <button className="rounded border border-gray-300 px-4 py-2" onClick={() => setEditing(true)}>@edit</button>
        </>
      )}
    </section>
  );
}
