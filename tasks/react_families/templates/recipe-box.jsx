import { useState } from "react";

const RECIPES = @recipes;

export default function RecipeBox() {
  const [open, setOpen] = useState(0);
  const [servings, setServings] = useState(2);
  const [name, amount, unit] = RECIPES[open];

  return (
    <main className="mx-auto mt-8 max-w-xl p-6">
      <h1 className="mb-4 text-3xl font-bold">@title</h1>
      <div className="mb-6 flex gap-2">
        {RECIPES.map(([recipe], i) => (
          <button
            key={recipe}
            className={`rounded-full px-4 py-2 ${i === open ? "bg-@tone-600 text-white" : "bg-gray-100"}`}
            onClick={() => setOpen(i)}
          >
            {recipe}
          </button>
        ))}
      </div>
      <article className="rounded-2xl border border-gray-300 p-6">
        <h2 className="text-xl font-semibold">{name}</h2>
        <p className="my-4 text-3xl">{servings * Number(amount)} {unit}</p>
        <p className="mb-4 text-gray-600">Servings: {servings}</p>
        <div className="flex gap-2">
          <button className="rounded border border-gray-300 px-4 py-2" onClick={() => setServings(Math.max(1, servings - 1))}>
            @fewer
          </button>
          <button className="rounded border border-gray-300 px-4 py-2" onClick={() => setServings(servings + 1)}>@more</button>
        </div>
      </article>
    </main>
  );
}
