// Calls Slack's Web API with @slack/web-api. Each line of the standard input is {"method", "args"}; each line of the
// standard output is what the SDK made of it: {"data"} or, as it threw it, {"code", "error", "retryAfter"}.
"use strict";

const readline = require("node:readline");
const { LogLevel, WebClient } = require("@slack/web-api");

const client = new WebClient(process.env.SLACK_TOKEN, {
  slackApiUrl: process.env.SLACK_API_URL,
  rejectRateLimitedCalls: process.env.SLACK_WAITS !== "yes",
  retryConfig: { retries: process.env.SLACK_WAITS === "yes" ? 1 : 0 },
  logLevel: LogLevel.ERROR,
});

async function call({ method, args }) {
  const [family, ...rest] = method.split(".");
  let owner = client[family];
  for (const name of rest.slice(0, -1)) owner = owner[name];
  try {
    return { data: await owner[rest.at(-1)](args) };
  } catch (err) {
    return { code: err.code ?? String(err), error: err.data?.error, retryAfter: err.retryAfter, data: err.data };
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await call(JSON.parse(line))));
  }
})();
