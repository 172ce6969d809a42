// The page's address: `#SEED-03.1` is a program, `#?area=ties` a filtered list, `#?cause=…` the programs of one cause;
// they combine.

const FILTERS = ["q", "cause", "area", "rule", "level", "verdict", "operator", "dtype", "versions"];

function readAddress() {
  const fragment = location.hash.slice(1);
  const at = fragment.indexOf("?");
  const path = at < 0 ? fragment : fragment.slice(0, at);
  const query = new URLSearchParams(at < 0 ? "" : fragment.slice(at + 1));
  const filter = {};
  for (const name of FILTERS) filter[name] = query.get(name) ?? "";
  return { id: unquoted(path), filter };
}

function addressOf(id, filter) {
  const query = new URLSearchParams();
  for (const name of FILTERS) if (filter?.[name]) query.set(name, addressable(filter[name]));
  const text = query.toString();
  return `#${id ? quotedId(id) : ""}${text || !id ? `?${text}` : ""}`;
}

const isFiltered = (filter) => FILTERS.some((name) => filter[name]);
