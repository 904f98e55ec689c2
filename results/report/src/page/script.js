"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const drawn = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };

  // Sorting: up, down, then the order of the run again; what has no value stays below.
  const table = document.getElementById("table");
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const asRun = [...body.rows];
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    if (!heads[column].classList.contains("number")) return cell.textContent;
    return cell.dataset.sort === undefined ? null : Number(cell.dataset.sort);
  };
  const compare = (a, b) => (typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0);
  const sort = (column) => {
    const head = heads[column];
    const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
    heads.forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", next);
    const rows = [...asRun];
    if (next !== "none") {
      const sign = next === "ascending" ? 1 : -1;
      rows.sort((a, b) => {
        const [x, y] = [valueOf(a, column), valueOf(b, column)];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * compare(x, y);
      });
    }
    body.append(...rows);
  };
  heads.forEach((head, column) => {
    head.setAttribute("aria-sort", "none");
    const words = head.querySelector(".sort");
    const button = make("button", { type: "button" }, ...words.childNodes);
    button.addEventListener("click", () => sort(column));
    words.replaceChildren(button);
  });

  // Radio buttons that look like a row of words: arrow keys flip.
  let nGroups = 0;
  const choices = (parent, legend, names, chosen, onChange) => {
    const group = `choice-${(nGroups += 1)}`;
    parent.append(make("span", { className: "legend" }, legend));
    parent.setAttribute("role", "radiogroup");
    parent.setAttribute("aria-label", legend);
    return names.map((name, at) => {
      const input = make("input", { type: "radio", name: group, checked: at === chosen });
      input.addEventListener("change", () => onChange(at));
      parent.append(make("label", { className: "choice" }, input, make("span", {}, name)));
      return input;
    });
  };

  // One method at a time, all prompts at once.
  const bar = document.querySelector(".flipbar");
  if (bar && data.cells.length > 1) {
    bar.hidden = false;
    choices(bar, "Show", ["side by side", ...data.cells], 0, (at) => {
      document.querySelectorAll(".cell-images").forEach((list) => list.toggleAttribute("data-one", at > 0));
      document.querySelectorAll(".cell-image").forEach((cellImage) => {
        cellImage.hidden = at > 0 && Number(cellImage.dataset.column) !== at - 1;
      });
    });
  }

  // One prompt, token by token.
  const words = { p: "first token, from the prefill", a: "draft token, accepted", t: "the target's own token", s: "draft token, not verified" };
  const overlays = ["image", "where tokens came from", "tokens a step gave"];
  const stepsOf = (cellImage) => {
    const steps = [];
    cellImage.steps.forEach(([n]) => { for (let i = 0; i < n; i += 1) steps.push(n); });
    return steps;
  };
  const viewer = (article) => {
    const place = article.querySelector(".viewer");
    const row = data.rows[Number(article.dataset.row)];
    const images = [...article.querySelectorAll(".cell-image")].map((cellImage) => cellImage.querySelector("img"));
    let method = Math.max(0, images.findIndex((image) => image !== null));
    let before = method;
    let overlay = 0;
    const stage = make("div", { className: "stage" });
    const facts = make("div", { className: "about" });
    const show = () => {
      const [cellImage, image] = [row.cell_images[method], images[method]];
      stage.replaceChildren();
      facts.replaceChildren(make("h4", {}, data.cells[method]));
      if (!image || !cellImage) {
        facts.append(make("p", {}, "no image"));
        return;
      }
      stage.append(make("img", { src: image.src, alt: image.alt, width: image.width, height: image.height }));
      const gained = stepsOf(cellImage);
      const most = Math.max(1, ...cellImage.steps.map(([n]) => n));
      if (overlay > 0 && cellImage.grid && cellImage.origins) {
        const [columns, rows] = cellImage.grid;
        const map = drawn("svg", { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", role: "img", "aria-label": overlays[overlay] });
        [...cellImage.origins].forEach((origin, at) => {
          const step = at === 0 ? 1 : gained[at - 1];
          const square = drawn("rect", { x: at % columns, y: Math.floor(at / columns), width: 1, height: 1 });
          square.setAttribute("class", `o-${overlay === 1 ? origin : origin === "s" ? "s" : "t"}`);
          square.setAttribute("fill-opacity", overlay === 2 ? (0.9 * step) / most : origin === "a" ? 0.5 : 0.75);
          const title = drawn("title", {});
          title.textContent = `position ${at}, token ${cellImage.tokens[at]}: ${words[origin]}; its step gave ${step}`;
          square.append(title);
          map.append(square);
        });
        stage.append(map);
      }
      facts.append(make("p", {}, cellImage.words));
      if (!cellImage.origins) {
        facts.append(make("p", { className: "small" }, cellImage.why));
      } else {
        const key = make("ul", { className: "key" });
        for (const [origin, text] of Object.entries(words)) {
          const n = [...cellImage.origins].filter((o) => o === origin).length;
          if (n > 0) key.append(make("li", {}, make("i", { className: `o-${origin}` }), `${text}: ${n}`));
        }
        facts.append(key);
        if (!cellImage.grid) facts.append(make("p", { className: "small" }, "The tokens do not fill a grid of squares, so the image has no map."));
        const bars = make("div", { className: "bars" });
        bars.setAttribute("role", "img");
        bars.setAttribute("aria-label", `Tokens of each of ${cellImage.steps.length} steps, at most ${most}`);
        cellImage.steps.forEach(([n, verified], at) => {
          const tall = make("i", { title: `step ${at + 1}: ${n} tokens`, className: verified ? "" : "o-s" });
          tall.style.height = `${(100 * n) / most}%`;
          bars.append(tall);
        });
        facts.append(make("p", { className: "small" }, `Tokens of each of ${cellImage.steps.length} steps, at most ${most}:`), bars);
      }
      const list = make("div", { className: "tokens", tabIndex: 0 });
      list.setAttribute("aria-label", "Token ids");
      cellImage.tokens.forEach((token, at) => list.append(make("span", { className: cellImage.origins ? `o-${cellImage.origins[at]}` : "" }, String(token)), " "));
      facts.append(make("p", { className: "small" }, "Token ids in the order in which they were made:"), list);
    };
    const pick = make("fieldset");
    const radios = choices(pick, "Method", data.cells, method, (at) => { [before, method] = [method, at]; show(); });
    const layer = make("fieldset");
    choices(layer, "Layer", overlays, 0, (at) => { overlay = at; show(); });
    place.append(pick, layer, make("div", { className: "looking" }, stage, facts));
    const choose = (at) => { if (at !== method) { [before, method] = [method, at]; radios[at].checked = true; show(); } };
    place.addEventListener("keydown", (event) => {
      if (event.key === "b" && !event.ctrlKey && !event.metaKey && !event.altKey) choose(before);
    });
    place.append(make("p", { className: "small" }, "Arrow keys flip between methods; b goes back and forth between the last two."));
    show();
    return { choose, focus: () => radios[method].focus() };
  };
  document.querySelectorAll(".prompt").forEach((article) => {
    const drill = article.querySelector(".drill");
    let open = null;
    drill.addEventListener("toggle", () => { if (drill.open && !open) open = viewer(article); });
    article.querySelectorAll(".cell-image").forEach((cellImage, column) => {
      const image = cellImage.querySelector("img");
      if (!image) return;
      const button = make("button", { type: "button" });
      button.setAttribute("aria-label", `Look closer: ${image.alt}`);
      image.replaceWith(button);
      button.append(image);
      button.addEventListener("click", () => {
        drill.open = true;
        open = open || viewer(article);
        open.choose(column);
        open.focus();
      });
    });
  });
})();
