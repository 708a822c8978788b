import { useState } from "react";

const QUESTIONS = @questions;

export default function Trivia() {
  const [step, setStep] = useState(-1);
  const [score, setScore] = useState(0);
  const [picked, setPicked] = useState(null);
  const over = step === QUESTIONS.length;

  const go = (to) => {
    setPicked(null);
    setStep(to);
  };
  const restart = () => {
    setScore(0);
    go(0);
  };

  if (step < 0 || over) {
    return (
      <main className="p-16 text-center">
        <h1 className="mb-6 text-4xl font-bold text-@tone-700">@title</h1>
        {over && <p className="mb-6 text-xl">Score: {score}</p>}
        <button className="rounded-xl bg-@tone-600 px-8 py-4 text-lg text-white" onClick={restart}>
          {over ? "@again" : "@start"}
        </button>
      </main>
    );
  }

  const [question, right, ...wrong] = QUESTIONS[step];
  const answers = [wrong[0], right, ...wrong.slice(1)];
  const pick = (answer) => {
    if (picked) return;
    setPicked(answer);
    if (answer === right) setScore(score + 1);
  };

  return (
    <main className="mx-auto mt-12 max-w-md rounded-2xl border border-gray-300 p-8">
      <h1 className="font-semibold text-@tone-700">@title</h1>
      <div className="mb-4 flex justify-between text-gray-500">
        <span>Question {step + 1} of {QUESTIONS.length}</span>
        <span>Score: {score}</span>
      </div>
      <p className="mb-4 text-2xl font-bold">{question}</p>
      <div className="mb-6 flex flex-col gap-2">
        {answers.map((answer) => (
          <button
            key={answer}
            className={`rounded-lg border p-3 text-left ${picked && answer === right ? "bg-green-100" : ""} ${
              picked === answer && answer !== right ? "bg-red-100" : ""
            }`}
            onClick={() => pick(answer)}
          >
            {answer}
          </button>
        ))}
      </div>
      {picked && <button className="w-full rounded bg-gray-900 py-2 text-white" onClick={() => go(step + 1)}>@next</button>}
    </main>
  );
}
