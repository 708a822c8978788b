import { useState } from "react";

const COLUMNS = @columns;
const ROWS = @rows;

export default function DataTable() {
  const [hidden, setHidden] = useState(false);
  const rows = hidden ? ROWS.filter((row) => !row.includes("@gone")) : ROWS;

  return (
    <main className="mx-auto mt-10 max-w-2xl p-6">
      <h1 className="mb-4 text-2xl font-bold">@title</h1>
      <label className="mb-4 flex items-center gap-2">
        <input type="checkbox" checked={hidden} onChange={(e) => setHidden(e.target.checked)} />
        @box
      </label>
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b-2 border-@tone-500">
            {COLUMNS.map((column) => (
              <th key={column} className="p-3">{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row[0]} className="even:bg-gray-50">
              {row.map((cell, i) => (
                <td key={i} className="p-3">{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </main>
  );
}
