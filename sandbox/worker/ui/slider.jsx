import { useControlled } from "./parts.jsx";
import { cn } from "./utils.js";

const THUMB = [
  "absolute inset-x-0 m-0 h-4 w-full appearance-none bg-transparent outline-none disabled:opacity-50",
  "[&::-webkit-slider-thumb]:pointer-events-auto [&::-webkit-slider-thumb]:size-4",
  "[&::-webkit-slider-thumb]:appearance-none [&::-webkit-slider-thumb]:rounded-full",
  "[&::-webkit-slider-thumb]:border [&::-webkit-slider-thumb]:border-primary",
  "[&::-webkit-slider-thumb]:bg-background [&::-webkit-slider-thumb]:shadow-sm",
];

// One range input a thumb: the browser brings the keyboard, the role and the form's value.
export function Slider({
  value,
  defaultValue,
  onValueChange,
  onValueCommit,
  min = 0,
  max = 100,
  step = 1,
  name,
  disabled,
  className,
  orientation,
  "aria-label": label,
  "aria-labelledby": labelledBy,
  ...props
}) {
  const [state, setState] = useControlled(value, defaultValue ?? [min], onValueChange);
  const many = state.length > 1;
  const share = (each) => ((each - min) / (max - min)) * 100;
  const ends = { left: `${many ? share(Math.min(...state)) : 0}%`, right: `${100 - share(Math.max(...state))}%` };
  const change = (index, next) => setState(state.map((each, i) => (i === index ? next : each)));
  return (
    <div data-slot="slider" className={cn("relative flex h-4 w-full touch-none items-center", className)} {...props}>
      <span className="absolute inset-x-0 h-1.5 rounded-full bg-primary/20" />
      <span className="absolute h-1.5 rounded-full bg-primary" style={ends} />
      {state.map((each, index) => (
        <input
          key={index}
          type="range"
          {...{ min, max, step, name, disabled }}
          aria-label={label}
          aria-labelledby={labelledBy}
          value={each}
          onChange={(event) => change(index, Number(event.target.value))}
          onPointerUp={() => onValueCommit?.(state)}
          className={cn(THUMB, many && "pointer-events-none")}
        />
      ))}
    </div>
  );
}
