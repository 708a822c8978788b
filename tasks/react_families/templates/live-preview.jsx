import { useState } from "react";

export default function LivePreview() {
  const [first, setFirst] = useState("@start_one");
  const [second, setSecond] = useState("@start_two");

  return (
    <main className="mx-auto max-w-3xl p-8">
      <h1 className="mb-6 text-3xl font-bold">@title</h1>
      <div className="grid grid-cols-2 gap-8">
        <form className="flex flex-col gap-4">
          <label className="flex flex-col gap-1">
            @one
            <input className="rounded border border-gray-300 p-2" value={first} onChange={(e) => setFirst(e.target.value)} />
          </label>
          <label className="flex flex-col gap-1">
            @two
            <input className="rounded border border-gray-300 p-2" value={second} onChange={(e) => setSecond(e.target.value)} />
          </label>
        </form>
        <div className="flex h-48 flex-col items-center justify-center rounded-2xl bg-@tone-100 p-6 text-center shadow">
          <p className="text-2xl font-semibold text-@tone-900">{first}: {second}</p>
        </div>
      </div>
    </main>
  );
}
