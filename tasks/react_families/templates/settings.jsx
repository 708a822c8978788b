import { useState } from "react";

const OPTIONS = @options;
const VALUES = @values;

export default function Settings() {
  const [on, setOn] = useState([]);
  const [value, setValue] = useState(VALUES[0]);
  const [saved, setSaved] = useState(false);

  const toggle = (option) => {
    setSaved(false);
    setOn(on.includes(option) ? on.filter((o) => o !== option) : [...on, option]);
  };

  return (
    <main className="mx-auto mt-10 max-w-md rounded-xl border border-gray-300 bg-white p-8">
      <h1 className="mb-6 text-2xl font-bold">@title</h1>
      {OPTIONS.map((option) => (
        <label key={option} className="flex items-center justify-between border-b border-gray-300 py-3">
          {option}
          <input type="checkbox" className="h-5 w-5" checked={on.includes(option)} onChange={() => toggle(option)} />
        </label>
      ))}
      <label className="flex items-center justify-between py-3">
        @choice
        <select className="rounded border border-gray-300 p-2" value={value} onChange={(e) => setValue(e.target.value)}>
          {VALUES.map((v) => (
            <option key={v}>{v}</option>
          ))}
        </select>
      </label>
      <button className="mt-4 w-full rounded bg-@tone-600 py-2 text-white" onClick={() => setSaved(true)}>@save</button>
      {saved && <p role="status" className="mt-4 text-center text-green-700">@done</p>}
    </main>
  );
}
