import { useState } from "react";

const LINES = [
  [0, 1, 2], [3, 4, 5], [6, 7, 8],
  [0, 3, 6], [1, 4, 7], [2, 5, 8],
  [0, 4, 8], [2, 4, 6],
];
const winner = (cells) => {
  const line = LINES.find(([a, b, c]) => cells[a] && cells[a] === cells[b] && cells[a] === cells[c]);
  return line ? cells[line[0]] : null;
};

export default function TicTacToe() {
  const [cells, setCells] = useState(Array(9).fill(null));
  const moves = cells.filter(Boolean).length;
  const turn = moves % 2 === 0 ? "@one" : "@two";
  const won = winner(cells);

  const play = (index) => {
    if (cells[index] || won) return;
    setCells(cells.map((cell, i) => (i === index ? turn : cell)));
  };

  return (
    <main className="flex flex-col items-center gap-5 p-8">
      <h1 className="text-3xl font-bold">@title</h1>
      <p role="status">{won ? `${won} wins` : moves === 9 ? "A draw" : `Next: ${turn}`}</p>
      <div className="grid grid-cols-3 gap-2">
        {cells.map((cell, i) => (
          <button
            key={i}
            aria-label={`Cell ${i + 1}${cell ? `, ${cell}` : ""}`}
            className="h-24 w-24 rounded-lg bg-@tone-100 text-4xl font-bold"
            onClick={() => play(i)}
          >
            {cell}
          </button>
        ))}
      </div>
      <button className="rounded border border-gray-300 px-5 py-2" onClick={() => setCells(Array(9).fill(null))}>@reset</button>
    </main>
  );
}
