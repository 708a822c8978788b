// What a component may import.  To ship another package: add it to package.json and here.
// A bundle is one file of vendor/; a page gets a bundle only when its component imports one of the bundle's modules.
export const BUNDLES = {
  react: ["react", "react-dom", "react-dom/client", "react/jsx-runtime"],
};

// In every page: the mount code needs React.
export const ALWAYS = ["react"];
