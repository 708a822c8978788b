import { useState } from "react";

export default function FormBuilder() {
  const [questions, setQuestions] = useState(@questions);
  const [draft, setDraft] = useState("");
  const [preview, setPreview] = useState(false);

  const add = (event) => {
    event.preventDefault();
    if (!draft.trim()) return;
    setQuestions([...questions, draft.trim()]);
    setDraft("");
  };

  if (preview) {
    return (
      <main className="mx-auto mt-8 max-w-lg rounded-2xl bg-@tone-50 p-8">
        <h1 className="mb-6 text-2xl font-bold">@title</h1>
        {questions.map((question) => (
          <label key={question} className="mb-4 flex flex-col gap-1">
            {question}
            <input type="text" className="rounded border border-gray-300 bg-white p-2" />
          </label>
        ))}
        <button className="rounded border border-gray-300 bg-white px-4 py-2" onClick={() => setPreview(false)}>@back</button>
      </main>
    );
  }
  return (
    <main className="mx-auto mt-8 max-w-lg rounded-2xl border border-gray-300 p-8">
      <h1 className="text-2xl font-bold">@title</h1>
      <p className="mb-4 text-gray-500">{questions.length} questions</p>
      <ol className="mb-6 list-inside list-decimal space-y-2">
        {questions.map((question) => (
          <li key={question}>{question}</li>
        ))}
      </ol>
      <form onSubmit={add} className="mb-6 flex items-end gap-2">
        <label className="flex flex-1 flex-col text-sm">
          @label
          <input type="text" className="rounded border border-gray-300 p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
        </label>
        <button className="rounded border border-gray-300 px-4 py-2">@add</button>
      </form>
      <button className="w-full rounded bg-@tone-600 py-2 text-white" onClick={() => setPreview(true)}>@preview</button>
    </main>
  );
}
