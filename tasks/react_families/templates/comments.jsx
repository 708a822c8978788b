import { useState } from "react";

export default function Comments() {
  const [comments, setComments] = useState(@comments);
  const [draft, setDraft] = useState("");

  function post() {
    if (!draft.trim()) return;
    setComments([...comments, draft.trim()]);
    setDraft("");
  }

  return (
    <section className="mx-auto mt-8 max-w-xl p-6">
      <h2 className="text-2xl font-bold">@title</h2>
      <p className="mb-4 text-gray-500">{comments.length} comments</p>
      <ul className="mb-6 space-y-3">
        {comments.map((comment, i) => (
          <li key={i} className="rounded-lg border-l-4 border-@tone-400 bg-gray-50 p-3">{comment}</li>
        ))}
      </ul>
      <label htmlFor="draft" className="font-medium">@label</label>
      <textarea
        id="draft"
        rows={3}
        className="my-2 w-full rounded border border-gray-300 p-2"
        value={draft}
        onChange={(e) => setDraft(e.target.value)}
      />
      <button className="rounded bg-@tone-600 px-4 py-2 text-white" onClick={post}>@post</button>
    </section>
  );
}
