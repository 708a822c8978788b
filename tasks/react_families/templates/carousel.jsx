import { useState } from "react";

const SLIDES = @slides;

export default function Carousel() {
  const [index, setIndex] = useState(0);
  const move = (by) => setIndex((index + by + SLIDES.length) % SLIDES.length);

  return (
    <section className="mx-auto mt-8 max-w-2xl p-6">
      <h2 className="mb-4 text-2xl font-bold">@title</h2>
      <div className="flex h-64 items-center justify-center rounded-3xl bg-@tone-100 p-8 text-center text-2xl">
        {SLIDES[index]}
      </div>
      <div className="mt-4 flex items-center justify-between">
        <button className="rounded-full border border-gray-300 px-5 py-2" onClick={() => move(-1)}>@back</button>
        <div className="flex gap-2" aria-hidden="true">
          {SLIDES.map((slide, i) => (
            <span key={slide} className={`h-3 w-3 rounded-full ${i === index ? "bg-@tone-600" : "bg-gray-300"}`} />
          ))}
        </div>
        <button className="rounded-full border border-gray-300 px-5 py-2" onClick={() => move(1)}>@forward</button>
      </div>
    </section>
  );
}
