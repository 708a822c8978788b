import { useState } from "react";

const SLOTS = @slots;

export default function Slots() {
  const [slot, setSlot] = useState(null);
  const [name, setName] = useState("");
  const [booked, setBooked] = useState(null);

  const book = (event) => {
    event.preventDefault();
    if (slot && name.trim()) setBooked(`See you at ${slot}, ${name.trim()}`);
  };

  return (
    <main className="mx-auto mt-10 max-w-md rounded-2xl bg-white p-8 shadow-lg">
      <h1 className="mb-4 text-2xl font-bold">@title</h1>
      <div className="mb-4 grid grid-cols-2 gap-3">
        {SLOTS.map((time) => (
          <button
            key={time}
            aria-pressed={time === slot}
            className={`rounded-lg border p-3 ${time === slot ? "bg-@tone-600 text-white" : ""}`}
            onClick={() => setSlot(time)}
          >
            {time}
          </button>
        ))}
      </div>
      <p className="mb-4 text-gray-600">{slot ? `Chosen: ${slot}` : "@none"}</p>
      <form onSubmit={book} className="flex items-end gap-2">
        <label className="flex flex-1 flex-col text-sm">
          @label
          <input type="text" className="rounded border border-gray-300 p-2" value={name} onChange={(e) => setName(e.target.value)} />
        </label>
        <button className="rounded bg-gray-900 px-4 py-2 text-white">@book</button>
      </form>
      {booked && <p role="status" className="mt-4 rounded bg-green-50 p-3 text-green-800">{booked}</p>}
    </main>
  );
}
