import { useState } from "react";

const OPTIONS = @options;

export default function BookingForm() {
  const [name, setName] = useState("");
  const [choice, setChoice] = useState(OPTIONS[0]);
  const [sent, setSent] = useState(null);

  const submit = (event) => {
    event.preventDefault();
    setSent({ name, choice });
  };

  return (
    <form onSubmit={submit} className="mx-auto mt-10 flex max-w-md flex-col gap-4 rounded-xl border border-gray-300 p-8">
      <h1 className="text-2xl font-bold">@title</h1>
      <label className="flex flex-col gap-1">
        @field
        <input type="text" className="rounded border border-gray-300 p-2" value={name} onChange={(e) => setName(e.target.value)} />
      </label>
      <label className="flex flex-col gap-1">
        @choice
        <select className="rounded border border-gray-300 p-2" value={choice} onChange={(e) => setChoice(e.target.value)}>
          {OPTIONS.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      </label>
      <button className="rounded bg-@tone-600 p-3 font-semibold text-white">@send</button>
      {sent && (
        <p role="status" className="rounded bg-green-50 p-3 text-green-800">
          @answer: {sent.name}, {sent.choice}.
        </p>
      )}
    </form>
  );
}
