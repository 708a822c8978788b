import { useEffect, useState } from "react";

const FULL = @seconds;
const two = (n) => String(n).padStart(2, "0");

export default function Countdown() {
  const [left, setLeft] = useState(FULL);
  const [running, setRunning] = useState(false);

  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setLeft((n) => Math.max(0, n - 1)), 1000);
    return () => clearInterval(timer);
  }, [running]);

  const reset = () => {
    setRunning(false);
    setLeft(FULL);
  };

  return (
    <main className="mx-auto mt-12 max-w-md rounded-3xl bg-gray-900 p-10 text-center text-white">
      <h1 className="text-xl text-@tone-300">@title</h1>
      <p className="my-8 font-mono text-7xl">{two(Math.floor(left / 60))}:{two(left % 60)}</p>
      <div className="flex justify-center gap-4">
        <button className="rounded-full bg-@tone-500 px-6 py-3" onClick={() => setRunning(!running)}>
          {running ? "@stop" : "@start"}
        </button>
        <button className="rounded-full border border-gray-300 px-6 py-3" onClick={reset}>@reset</button>
      </div>
    </main>
  );
}
