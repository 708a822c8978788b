import { useState } from "react";

const CARDS = @cards;

export default function FlashCards() {
  const [index, setIndex] = useState(0);
  const [open, setOpen] = useState(false);
  const [known, setKnown] = useState(0);
  const [front, back] = CARDS[index];

  const next = () => {
    setOpen(false);
    setIndex((index + 1) % CARDS.length);
  };
  const knew = () => {
    setKnown(known + 1);
    next();
  };

  return (
    <main className="mx-auto mt-10 max-w-md p-6">
      <h1 className="mb-2 text-2xl font-bold">@title</h1>
      <div className="mb-4 flex justify-between text-gray-500">
        <span>Card {index + 1} of {CARDS.length}</span>
        <span>Known: {known}</span>
      </div>
      <div className="mb-4 flex h-56 flex-col items-center justify-center rounded-3xl bg-@tone-50 p-6 text-center shadow">
        <p className="text-3xl font-semibold">{front}</p>
        {open && <p className="mt-4 text-xl text-@tone-800">{back}</p>}
      </div>
      <div className="flex gap-2">
        <button className="flex-1 rounded border border-gray-300 py-2" onClick={() => setOpen(true)}>@show</button>
        <button className="flex-1 rounded bg-green-600 py-2 text-white" onClick={knew}>@knew</button>
        <button className="flex-1 rounded bg-gray-200 py-2" onClick={next}>@again</button>
      </div>
    </main>
  );
}
