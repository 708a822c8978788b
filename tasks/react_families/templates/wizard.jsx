import { useState } from "react";

const STEPS = @steps;

export default function Wizard() {
  const [step, setStep] = useState(0);
  const [notes, setNotes] = useState(STEPS.map(() => ""));

  return (
    <main className="mx-auto mt-10 max-w-lg rounded-xl bg-white p-8 shadow">
      <h1 className="text-2xl font-bold">@title</h1>
      <p className="mb-4 text-gray-500">Step {step + 1} of {STEPS.length}</p>
      <div className="mb-6 h-2 rounded bg-gray-100">
        <div className="h-2 rounded bg-@tone-500" style={{ width: `${((step + 1) / STEPS.length) * 100}%` }} />
      </div>
      <label className="block font-medium">
        {STEPS[step]}
        <input
          className="mt-2 w-full rounded border border-gray-300 p-2"
          value={notes[step]}
          onChange={(e) => setNotes(notes.map((note, i) => (i === step ? e.target.value : note)))}
        />
      </label>
      <div className="mt-6 flex justify-between">
        <button
          className="rounded border border-gray-300 px-4 py-2 disabled:opacity-40"
          disabled={step === 0}
          onClick={() => setStep(step - 1)}
        >
          @back
        </button>
        <button
          className="rounded bg-@tone-600 px-4 py-2 text-white disabled:opacity-40"
          disabled={step === STEPS.length - 1}
          onClick={() => setStep(step + 1)}
        >
          @forward
        </button>
      </div>
    </main>
  );
}
