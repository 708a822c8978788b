import { useState } from "react";

const PRICE = 3;

export default function IdleGame() {
  const [stuff, setStuff] = useState(0);
  const [power, setPower] = useState(1);

  const upgrade = () => {
    if (stuff < PRICE) return;
    setStuff(stuff - PRICE);
    setPower(power + 1);
  };

  return (
    <main className="mx-auto mt-12 max-w-sm rounded-3xl bg-gradient-to-b from-@tone-100 to-@tone-300 p-8 text-center">
      <h1 className="mb-6 text-3xl font-bold">@title</h1>
      <p className="text-5xl font-bold">@stuff: {stuff}</p>
      <p className="mb-8 mt-2 text-gray-700">Per click: {power}</p>
      <button className="mb-4 w-full rounded-2xl bg-@tone-700 py-6 text-2xl text-white" onClick={() => setStuff(stuff + power)}>
        @dig
      </button>
      <button
        className={`w-full rounded-2xl bg-white py-3 ${stuff < PRICE ? "opacity-50" : ""}`}
        onClick={upgrade}
      >
        @upgrade
      </button>
    </main>
  );
}
