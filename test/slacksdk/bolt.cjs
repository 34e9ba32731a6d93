// A bot of @slack/bolt that takes what people click and submit, over HTTP or, with an app token, over Socket Mode. It
// prints one line when it listens and one for everything that reaches a listener, which is what Bolt has verified.
//
// The button "ask" opens a form, "tell" answers the person, and a form is answered as its private_metadata says.
"use strict";

const { App, HTTPReceiver, LogLevel } = require("@slack/bolt");

const say = (event) => console.log(JSON.stringify(event));

const appToken = process.env.SLACK_APP_TOKEN;
const receiver = appToken ? undefined : new HTTPReceiver({
  signingSecret: process.env.SLACK_SIGNING_SECRET, port: 0, logLevel: LogLevel.ERROR,
});
const app = new App({
  token: process.env.SLACK_TOKEN, receiver, appToken, socketMode: Boolean(appToken), logLevel: LogLevel.ERROR,
  clientOptions: { slackApiUrl: process.env.SLACK_API_URL },
});

app.action(/.*/, async ({ ack, action, body, client, respond }) => {
  await ack();
  if (action.action_id === "ask") {
    await client.views.open({ trigger_id: body.trigger_id, view: JSON.parse(process.env.SLACK_VIEW) });
  }
  if (action.action_id === "tell") {
    await respond({ response_type: "ephemeral", replace_original: false, text: `You can't approve this, ${body.user.name}.` });
  }
  say({ kind: "action", user: body.user.id, channel: body.channel.id, ts: body.message.ts, action });
});

app.view(/.*/, async ({ ack, body, view }) => {
  if (view.private_metadata === "complain") {
    await ack({ response_action: "errors", errors: { reason: "Say more." } });
  } else {
    await ack();
  }
  say({ kind: "view", user: body.user.id, callback_id: view.callback_id, values: view.state.values });
});

app.error(async (err) => say({ kind: "error", message: String(err) }));

(async () => {
  const server = await app.start();
  say({ kind: "listening", port: appToken ? 0 : server.address().port });
})();
