import { useState } from "react";

export default function StarRating() {
  const [stars, setStars] = useState(0);
  const [sent, setSent] = useState(false);

  return (
    <section className="mx-auto mt-12 max-w-sm rounded-2xl bg-white p-8 text-center shadow-lg">
      <h2 className="mb-4 text-2xl font-bold">@title</h2>
      <div className="mb-2 text-5xl">
        {[1, 2, 3, 4, 5].map((n) => (
          <button
            key={n}
            aria-label={n === 1 ? "1 star" : `${n} stars`}
            className={n <= stars ? "text-amber-400" : "text-gray-300"}
            onClick={() => setStars(n)}
          >
            ★
          </button>
        ))}
      </div>
      <p className="mb-6 h-6 text-gray-600">{stars > 0 && `${stars} out of 5`}</p>
      <button className="rounded-lg bg-@tone-600 px-6 py-2 text-white" onClick={() => setSent(true)}>@send</button>
      {sent && <p role="status" className="mt-4 text-green-700">@thanks</p>}
    </section>
  );
}
