import { useState } from "react";

const TRACKS = @tracks;

export default function Player() {
  const [index, setIndex] = useState(0);
  const [playing, setPlaying] = useState(false);
  const move = (by) => setIndex((index + by + TRACKS.length) % TRACKS.length);

  return (
    <main className="mx-auto mt-10 max-w-md rounded-3xl bg-gray-900 p-8 text-white">
      <h1 className="mb-4 text-xl font-bold">@title</h1>
      <div className="mb-6 flex h-40 items-center justify-center rounded-2xl bg-@tone-600 text-6xl" aria-hidden="true">
        ♪
      </div>
      <p className="mb-4 text-center text-lg">Now playing: {TRACKS[index]}</p>
      <div className="mb-6 flex justify-center gap-3">
        <button className="rounded-full border border-gray-300 px-4 py-2" onClick={() => move(-1)}>@back</button>
        <button className="rounded-full bg-white px-6 py-2 text-gray-900" onClick={() => setPlaying(!playing)}>
          {playing ? "@pause" : "@play"}
        </button>
        <button className="rounded-full border border-gray-300 px-4 py-2" onClick={() => move(1)}>@forward</button>
      </div>
      <ol className="space-y-1">
        {TRACKS.map((track, i) => (
          <li key={track} className={`rounded p-2 ${i === index ? "bg-gray-800 font-semibold" : "text-gray-400"}`}>
            {track}
          </li>
        ))}
      </ol>
    </main>
  );
}
