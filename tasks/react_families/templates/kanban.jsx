import { useState } from "react";

const COLUMNS = @columns;

export default function Board() {
  const [cards, setCards] = useState(@cards.map((name) => ({ name, column: 0 })));
  const [draft, setDraft] = useState("");

  const add = (event) => {
    event.preventDefault();
    if (!draft.trim()) return;
    setCards([...cards, { name: draft.trim(), column: 0 }]);
    setDraft("");
  };
  const move = (moved) =>
    setCards(cards.map((card) => (card === moved ? { ...card, column: card.column + 1 } : card)));

  return (
    <main className="min-h-screen bg-@tone-50 p-8">
      <h1 className="mb-4 text-3xl font-bold">@title</h1>
      <form onSubmit={add} className="mb-6 flex items-end gap-2">
        <label className="flex flex-col text-sm">
          @label
          <input className="rounded border border-gray-300 bg-white p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
        </label>
        <button className="rounded bg-@tone-700 px-4 py-2 text-white">@add</button>
      </form>
      <div className="grid grid-cols-3 gap-6">
        {COLUMNS.map((column, index) => {
          const mine = cards.filter((card) => card.column === index);
          return (
            <section key={column} className="rounded-xl bg-white p-4 shadow-sm">
              <h2 className="mb-3 font-semibold">{`${column} (${mine.length})`}</h2>
              {mine.map((card) => (
                <article key={card.name} className="mb-2 flex items-center justify-between rounded-lg border border-gray-300 p-3">
                  <span>{card.name}</span>
                  {index < COLUMNS.length - 1 && (
                    <button className="text-sm text-@tone-700 underline" onClick={() => move(card)}>@move</button>
                  )}
                </article>
              ))}
            </section>
          );
        })}
      </div>
    </main>
  );
}
