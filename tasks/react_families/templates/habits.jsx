import { useState } from "react";

const HABITS = @habits;
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export default function HabitTracker() {
  const [ticked, setTicked] = useState([]);
  const toggle = (key) => setTicked(ticked.includes(key) ? ticked.filter((k) => k !== key) : [...ticked, key]);

  return (
    <main className="mx-auto mt-8 max-w-3xl p-6">
      <div className="mb-4 flex items-baseline justify-between">
        <h1 className="text-2xl font-bold">@title</h1>
        <p className="text-@tone-700">{ticked.length} of {HABITS.length * DAYS.length} done</p>
      </div>
      <table className="mb-6 w-full text-center">
        <thead>
          <tr>
            <th />
            {DAYS.map((day) => (
              <th key={day} className="p-2 text-sm font-normal text-gray-500">{day.slice(0, 3)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {HABITS.map((habit) => (
            <tr key={habit} className="border-t border-gray-300">
              <th scope="row" className="p-3 text-left font-medium">{habit}</th>
              {DAYS.map((day) => (
                <td key={day}>
                  <input
                    type="checkbox"
                    aria-label={`${habit}, ${day}`}
                    className="h-5 w-5"
                    checked={ticked.includes(habit + day)}
                    onChange={() => toggle(habit + day)}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <button className="rounded border border-gray-300 px-4 py-2" onClick={() => setTicked([])}>@reset</button>
    </main>
  );
}
