import { useState } from "react";

export default function ConfirmPage() {
  const [open, setOpen] = useState(false);
  const [done, setDone] = useState(false);

  const confirm = () => {
    setOpen(false);
    setDone(true);
  };

  return (
    <main className="p-12 text-center">
      <h1 className="mb-6 text-3xl font-bold">@title</h1>
      <button className="rounded-lg bg-@tone-600 px-6 py-3 text-white" onClick={() => setOpen(true)}>@open</button>
      {done && <p role="status" className="mt-6 text-lg text-green-700">@done</p>}
      {open && (
        <div className="fixed inset-0 flex items-center justify-center bg-black/50">
          <div role="dialog" aria-modal="true" aria-labelledby="ask" className="w-96 rounded-xl bg-white p-6 text-left">
            <h2 id="ask" className="mb-2 text-xl font-semibold">@question</h2>
            <p className="mb-6 text-gray-600">@body</p>
            <div className="flex justify-end gap-3">
              <button className="rounded border border-gray-300 px-4 py-2" onClick={() => setOpen(false)}>@cancel</button>
              <button className="rounded bg-red-600 px-4 py-2 text-white" onClick={confirm}>@confirm</button>
            </div>
          </div>
        </div>
      )}
    </main>
  );
}
