import { useState } from "react";

const ANSWERS = ["@wrong", "@right", "@other"];

export default function Quiz() {
  const [picked, setPicked] = useState(null);
  const right = picked === "@right";

  return (
    <main className="mx-auto mt-10 max-w-md rounded-2xl border border-gray-300 p-8">
      <h1 className="text-sm font-semibold uppercase text-@tone-700">@title</h1>
      <p className="my-4 text-2xl font-bold">@question</p>
      <div className="flex flex-col gap-3">
        {ANSWERS.map((answer) => (
          <button
            key={answer}
            className={`rounded-lg border p-3 text-left ${picked === answer ? "border-@tone-500 bg-@tone-50" : ""}`}
            onClick={() => setPicked(answer)}
          >
            {answer}
          </button>
        ))}
      </div>
      {picked && (
        <p role="status" className={`mt-6 text-lg ${right ? "text-green-700" : "text-red-700"}`}>
          {right ? "@yes" : "@no"}
        </p>
      )}
    </main>
  );
}
