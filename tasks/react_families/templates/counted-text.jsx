import { useState } from "react";

const LIMIT = @limit;

export default function CountedText() {
  const [value, setValue] = useState("");
  const close = value.length > LIMIT * 0.9;

  return (
    <main className="mx-auto mt-10 max-w-md p-6">
      <h1 className="mb-4 text-2xl font-bold">@title</h1>
      <label className="block font-medium">
        @label
        <textarea
          rows={4}
          maxLength={LIMIT}
          className="mt-2 w-full rounded-lg border-2 border-@tone-200 p-3"
          value={value}
          onChange={(e) => setValue(e.target.value)}
        />
      </label>
      <div className="mt-2 flex items-center justify-between">
        <button className="rounded bg-gray-200 px-3 py-1" onClick={() => setValue("")}>@clear</button>
        <span className={close ? "text-red-600" : "text-gray-500"}>{value.length} / {LIMIT}</span>
      </div>
    </main>
  );
}
