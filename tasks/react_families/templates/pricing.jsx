import { useState } from "react";

const PLANS = @plans;

export default function Pricing() {
  const [yearly, setYearly] = useState(false);
  const tone = (on) => (on ? "bg-@tone-600 text-white" : "bg-gray-100");

  return (
    <section className="mx-auto max-w-4xl p-10 text-center">
      <h2 className="mb-6 text-3xl font-bold">@title</h2>
      <div className="mb-8 inline-flex gap-2">
        <button className={`rounded-full px-5 py-2 ${tone(!yearly)}`} onClick={() => setYearly(false)}>Monthly</button>
        <button className={`rounded-full px-5 py-2 ${tone(yearly)}`} onClick={() => setYearly(true)}>Yearly</button>
      </div>
      <div className="grid grid-cols-3 gap-6">
        {PLANS.map(([name, month, year], i) => (
          <div key={name} className={`rounded-2xl border p-6 ${i === 1 ? "border-@tone-500 shadow-xl" : "border-gray-200"}`}>
            <h3 className="text-lg font-semibold">{name}</h3>
            <p className="my-4 text-4xl font-bold">{yearly ? year : month}</p>
            <p className="mb-6 text-gray-500">{yearly ? "a year" : "a month"}</p>
            <button className="w-full rounded-lg bg-gray-900 py-2 text-white">@cta</button>
          </div>
        ))}
      </div>
    </section>
  );
}
