import { useState } from "react";

export default function Calculator() {
  const [first, setFirst] = useState(@a);
  const [second, setSecond] = useState(@b);
  const result = Math.floor(first @op second);

  return (
    <div className="mx-auto mt-12 max-w-sm rounded-2xl bg-@tone-50 p-8 shadow">
      <h1 className="mb-6 text-2xl font-bold">@title</h1>
      <label className="mb-4 block">
        <span className="text-sm text-gray-600">@one</span>
        <input
          type="number"
          className="mt-1 w-full rounded border border-gray-300 bg-white p-2"
          value={first}
          onChange={(e) => setFirst(Number(e.target.value))}
        />
      </label>
      <label className="mb-6 block">
        <span className="text-sm text-gray-600">@two</span>
        <input
          type="number"
          className="mt-1 w-full rounded border border-gray-300 bg-white p-2"
          value={second}
          onChange={(e) => setSecond(Number(e.target.value))}
        />
      </label>
      <p className="text-2xl font-semibold text-@tone-800">@result: {Number.isFinite(result) ? result : "-"}</p>
    </div>
  );
}
