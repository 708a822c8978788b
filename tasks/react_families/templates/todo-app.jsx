import { useState } from "react";

const START = @items;

export default function TodoApp() {
  const [tasks, setTasks] = useState(START.map((name) => ({ name, done: false })));
  const [draft, setDraft] = useState("");
  const open = tasks.filter((task) => !task.done).length;

  const add = (event) => {
    event.preventDefault();
    if (!draft.trim()) return;
    setTasks([...tasks, { name: draft.trim(), done: false }]);
    setDraft("");
  };
  const toggle = (index) =>
    setTasks(tasks.map((task, i) => (i === index ? { ...task, done: !task.done } : task)));

  return (
    <main className="mx-auto mt-10 max-w-md rounded-xl bg-white p-6 shadow-lg">
      <h1 className="text-2xl font-bold">@title</h1>
      <p className="mb-4 text-sm text-gray-500">{open} open</p>
      <form onSubmit={add} className="mb-4 flex items-end gap-2">
        <label className="flex-1 text-sm">
          @label
          <input className="mt-1 w-full rounded border border-gray-300 p-2" value={draft} onChange={(e) => setDraft(e.target.value)} />
        </label>
        <button className="rounded bg-@tone-600 px-4 py-2 text-white">@add</button>
      </form>
      <ul className="divide-y divide-gray-200">
        {tasks.map((task, i) => (
          <li key={i} className="py-2">
            <label className={task.done ? "text-gray-400 line-through" : ""}>
              <input type="checkbox" className="mr-2" checked={task.done} onChange={() => toggle(i)} />
              {task.name}
            </label>
          </li>
        ))}
      </ul>
    </main>
  );
}
