import { useState } from "react";

const SECTIONS = @sections;
const TILES = @tiles;
const ROWS = @rows;

function Tiles() {
  return (
    <div className="grid grid-cols-2 gap-6">
      {TILES.map(([label, value]) => (
        <section key={label} className="rounded-xl bg-@tone-50 p-6">
          <h2 className="text-gray-600">{label}</h2>
          <p className="text-4xl font-bold">{value}</p>
        </section>
      ))}
    </div>
  );
}

function Table() {
  return (
    <table className="w-full text-left">
      <tbody>
        {ROWS.map(([name, value]) => (
          <tr key={name} className="border-b border-gray-300">
            <th scope="row" className="p-3">{name}</th>
            <td className="p-3">{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export default function Admin() {
  const [section, setSection] = useState(0);

  return (
    <div className="flex min-h-screen">
      <nav className="flex w-52 flex-col gap-2 bg-gray-900 p-4 text-white">
        {SECTIONS.map((name, i) => (
          <button
            key={name}
            className={`rounded p-3 text-left ${i === section ? "bg-@tone-600" : "hover:bg-gray-800"}`}
            onClick={() => setSection(i)}
          >
            {name}
          </button>
        ))}
      </nav>
      <main className="flex-1 p-8">
        <h1 className="mb-6 text-3xl font-bold">@title</h1>
        {section === 0 && <Tiles />}
        {section === 1 && <Table />}
        {section === 2 && <p className="text-lg">@note</p>}
      </main>
    </div>
  );
}
