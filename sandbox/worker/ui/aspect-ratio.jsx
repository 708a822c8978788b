export function AspectRatio({ ratio = 1, style, ...props }) {
  return (
    <div
      data-slot="aspect-ratio"
      style={{ position: "relative", width: "100%", aspectRatio: ratio, ...style }}
      {...props}
    />
  );
}
