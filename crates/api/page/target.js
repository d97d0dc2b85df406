// Targets and arguments as they are typed in a shell: `-G os:Debian`, `'web*'`,
// `name=vim refresh=True`.

const KINDS = {
  "-E": "pcre",
  "-L": "list",
  "-G": "grain",
  "-P": "grain_pcre",
  "-N": "nodegroup",
  "-R": "range",
  "-C": "compound",
  "-I": "pillar",
  "-J": "pillar_pcre",
  "-S": "ipcidr",
  "--pcre": "pcre",
  "--list": "list",
  "--grain": "grain",
  "--grain-pcre": "grain_pcre",
  "--nodegroup": "nodegroup",
  "--range": "range",
  "--compound": "compound",
  "--pillar": "pillar",
  "--pillar-pcre": "pillar_pcre",
  "--ipcidr": "ipcidr",
};

// The words of a line, as a shell separates them.
export function words(line) {
  const found = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    if (quote) {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && at + 1 < line.length) word += line[(at += 1)];
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== null) found.push(word);
      word = null;
    } else if (char === "\\" && at + 1 < line.length) {
      word = (word ?? "") + line[(at += 1)];
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== null) found.push(word);
  return found;
}

// A target with its kind, as the API takes it.
export function target(line) {
  const typed = words(line.trim());
  const kind = KINDS[typed[0]];
  const rest = kind ? typed.slice(1) : typed;
  const text = rest.join(" ") || "*";
  if (kind === "list") {
    const ids = text.split(",").map((id) => id.trim());
    return { tgt: ids.filter(Boolean), tgt_type: "list" };
  }
  return { tgt: text, tgt_type: kind ?? "glob" };
}

// Whether a glob of a target means an id.
export function globFits(glob, id) {
  const parts = glob.match(/\[[^\]]+\]|[\s\S]/g) ?? [];
  const written = parts.map((part) => {
    if (part === "*") return "[\\s\\S]*";
    if (part === "?") return "[\\s\\S]";
    if (part.length > 1) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return part.replace(/[.+^${}()|[\]\\]/, "\\$&");
  });
  try {
    return new RegExp(`^${written.join("")}$`).test(id);
  } catch {
    return false;
  }
}

// The same as it is typed.
export function typedTarget(tgt, kind) {
  const text = Array.isArray(tgt) ? tgt.join(",") : String(tgt);
  const option = Object.keys(KINDS).find((name) => KINDS[name] === kind);
  const quoted = /[\s'"*?[\]$|;&<>()\\]/.test(text) && !text.includes("'") ? `'${text}'` : text;
  return option ? `${option} ${quoted}` : quoted;
}

// A word as a value, like YAML reads the simple ones.
function value(word) {
  if (/^-?(0|[1-9]\d{0,14})$/.test(word) || /^-?\d+\.\d+$/.test(word)) return Number(word);
  if (/^(true|yes|on)$/i.test(word)) return true;
  if (/^(false|no|off)$/i.test(word)) return false;
  if (/^(null|none|~)$/i.test(word)) return null;
  if (/^[[{]/.test(word)) {
    try {
      return JSON.parse(word);
    } catch {
      return word;
    }
  }
  return word;
}

// The arguments of a line, by place and by name.
export function commandArguments(line) {
  const arg = [];
  const kwarg = {};
  for (const word of words(line)) {
    const named = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(word);
    if (named) kwarg[named[1]] = value(named[2]);
    else arg.push(value(word));
  }
  return { arg, kwarg };
}

const isNamed = (arg) => arg !== null && typeof arg === "object" && Boolean(arg.__kwarg__);

// The same from the arguments that a job has, with their values as they are.
export function splitArguments(args) {
  const { __kwarg__: _, ...kwarg } = Object.assign({}, ...(args ?? []).filter(isNamed));
  return { arg: (args ?? []).filter((arg) => !isNamed(arg)), kwarg };
}

// The same as they are typed, from the arguments that a job has.
export function typedArguments(args) {
  const quoted = (text) => (/^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
  const shown = (value) => {
    if (value === true) return "True";
    if (value === false) return "False";
    if (value === null) return "None";
    return quoted(typeof value === "object" ? JSON.stringify(value) : String(value));
  };
  return (args ?? []).flatMap((arg) => {
    if (!isNamed(arg)) return [shown(arg)];
    const named = Object.entries(arg).filter(([name]) => name !== "__kwarg__");
    return named.map(([name, value]) => `${name}=${shown(value)}`);
  }).join(" ");
}
