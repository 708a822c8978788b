import { useState } from "react";

export default function SliderPanel() {
  const [value, setValue] = useState(@start);

  return (
    <section className="mx-auto mt-10 max-w-md rounded-2xl bg-gray-900 p-8 text-white">
      <h1 className="text-xl font-semibold text-@tone-300">@title</h1>
      <p className="my-6 text-center text-5xl font-bold">{value} @unit</p>
      <label className="block">
        @label
        <input
          type="range"
          min="@low"
          max="@high"
          value={value}
          onChange={(e) => setValue(Number(e.target.value))}
          className="mt-2 w-full"
        />
      </label>
      <button className="mt-6 w-full rounded-lg bg-white py-2 text-gray-900" onClick={() => setValue(@start)}>
        @reset
      </button>
    </section>
  );
}
