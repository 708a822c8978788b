import { useState } from "react";

const OPTIONS = @options;

export default function Vote() {
  const [votes, setVotes] = useState(OPTIONS.map(([, count]) => Number(count)));
  const total = votes.reduce((sum, count) => sum + count, 0);
  const vote = (index) => setVotes(votes.map((count, i) => (i === index ? count + 1 : count)));

  return (
    <section className="mx-auto mt-10 max-w-lg rounded-xl border border-gray-300 p-6">
      <h2 className="mb-4 text-2xl font-semibold">@title</h2>
      {OPTIONS.map(([name], i) => (
        <div key={name} className="mb-4">
          <div className="flex justify-between">
            <span>{name}</span>
            <span className="font-mono">{votes[i]}</span>
          </div>
          <div className="my-1 h-3 rounded bg-gray-100">
            <div className="h-3 rounded bg-@tone-500" style={{ width: `${(100 * votes[i]) / total}%` }} />
          </div>
          <button className="text-sm text-@tone-700 underline" onClick={() => vote(i)}>Vote for {name}</button>
        </div>
      ))}
      <p className="border-t border-gray-300 pt-3 font-medium">Total votes: {total}</p>
    </section>
  );
}
