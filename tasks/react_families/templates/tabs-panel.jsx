import { useState } from "react";

const TABS = @tabs;

export default function TabsPanel() {
  const [active, setActive] = useState(0);

  return (
    <main className="mx-auto mt-10 max-w-xl p-6">
      <h1 className="mb-6 text-3xl font-bold">@title</h1>
      <div role="tablist" className="flex gap-6 border-b border-gray-300">
        {TABS.map(([name], i) => (
          <button
            key={name}
            role="tab"
            id={`tab-${i}`}
            aria-selected={i === active}
            aria-controls="panel"
            className={`pb-2 ${i === active ? "border-b-2 border-@tone-600 font-semibold" : "text-gray-500"}`}
            onClick={() => setActive(i)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${active}`} className="py-6 text-lg">
        {TABS[active][1]}
      </div>
    </main>
  );
}
