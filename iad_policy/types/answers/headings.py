"""The headings that models write over an action, and over what follows it, in several languages."""

import re

_ACTION = (
    "actions?|commands?|cmd|aktion|befehl|handlung|commande|acción|accion|comando|ação|acao|azione|actie|åtgärd|akcja"
    "|akce|eylem|aksi|tindakan|hành động|действие|команда|дія|动作|行动|操作|命令|動作|行動|アクション|コマンド"
    "|액션|행동|동작|명령어?|कार्रवाई|إجراء|الإجراء"
)
_WHICH = (
    "the|my|next|first|final|best|chosen|selected|proposed|recommended|suggested|current|correct|new|bash|shell|linux"
    "|nächste|meine|prochaine|mon|próxima|siguiente|mi|prossima|volgende|следующее|моё|下一步|下一个|我的|次の|다음"
)
_ANSWER = (
    "(?:final )?(?:answer|response|output|query|sql|code)|sql(?:ite)? (?:query|statement|command|code)|query|antwort"
    "|réponse|respuesta|resposta|risposta|ответ|答案|最终答案|回答|答え|정답|답변"
)
_OTHER = (
    "observations?|thoughts?|results?|outputs?|explanations?|reason|reasoning|rationale|justification|notes?|response"
    "|status|expected(?: \\w+)?|question|task|user|human|assistant|system|reflection|critique|plan|feedback"
    "|environment|step|next step|evidence|(?:final )?answer|beobachtung|gedanke|ergebnis|ausgabe"
    "|erklärung|pensée|résultat|explication"
    "|observación|pensamiento|resultado|explicación|observação|explicação|osservazione|pensiero|risultato|spiegazione"
    "|наблюдение|мысль|результат|объяснение|观察|思考|想法|结果|解释|说明|输出|理由|観察|結果|説明|관찰|생각|결과|설명"
)
_COLON = r"[ \t]*(?:[:：]|->|=>|→)"
_MARKS = r"(?:[^\w\n\"'{}<$]|_){0,12}"
"""What may stand before a heading on its line: emphasis, bullets, the marks of a headline."""
_NUMBER = r"(?:(?:step |turn )?\d{1,3}[.):]?[ \t]*(?:[-–][ \t]*)?[*_]{0,3})?"
_END_MARKS = r"[ \t]*[*_`\])]{0,4}"

_ANY_ACTION = rf"(?:(?:{_WHICH})[ ]?){{0,3}}(?:{_ACTION})(?:[ ]?\d{{1,3}})?"

ACTION = re.compile(
    rf"^(?P<before>{_MARKS}){_NUMBER}{_ANY_ACTION}(?:[ ](?:is|ist|est|es))?"
    rf"(?P<inside>{_END_MARKS}){_COLON}(?P<after>[*_]{{0,3}})",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a line that begins with `Action:`, in one of the languages, with any decoration."""
HEADLINE = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*[*_]{{0,3}}|[*_]{{2,3}}|\[){_NUMBER}{_ANY_ACTION}[*_\]]{{0,3}}[ \t]*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a headline of its own, such as `### Action`."""
ANSWER = re.compile(
    rf"^(?P<before>{_MARKS})(?:(?:{_WHICH})[ ])?(?:{_ANSWER})(?:[ ](?:is|ist|est|es))?"
    rf"(?P<inside>{_END_MARKS}){_COLON}(?P<after>[*_]{{0,3}})",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a line that begins with `Answer:`, `SQL:` or the like, which counts if there is no `Action:`."""
INLINE = re.compile(rf"(?<=[.!?。！？;,])[ \t]*[*_]{{0,3}}(?:{_ACTION}){_END_MARKS}{_COLON}[*_]{{0,3}}", re.IGNORECASE)
"""Matches `Action:` behind a sentence."""
INPUT = re.compile(
    rf"^[ \t>*_#]{{0,8}}(?:action|tool)[ _]?input{_END_MARKS}{_COLON}[*_]{{0,3}}", re.IGNORECASE | re.MULTILINE
)
"""Matches the line with the argument of an action, as LangChain's ReAct agent writes it."""
NEXT_PART = re.compile(
    rf"^[ \t>*_#]{{0,8}}(?:{_OTHER}|{_ACTION})(?:[ ]?\d{{1,3}})?{_END_MARKS}[ \t]*[:：](?!:)",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a line that begins another part of an answer: an invented observation, a thought, an explanation."""
EARLIER_PART = re.compile(rf"\A[ \t>*_#]{{0,8}}(?:{_OTHER})(?:[ ]?\d{{1,3}})?{_END_MARKS}[ \t]*[:：]", re.IGNORECASE)
"""Matches a text that begins with a part which is no action, such as a thought."""
STOP_TOKENS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "<|user|>",
    "<|observation|>",
    "<end_of_turn>",
    "<start_of_turn>",
    "<｜end▁of▁sentence｜>",
    "[/INST]",
)
"""Tokens of chat templates. What follows one of them is no part of the answer."""


def without_stop_tokens(text: str) -> str:
    """Return a text up to its first token of a chat template."""
    end = min((place for token in STOP_TOKENS if (place := text.find(token)) >= 0), default=len(text))
    return text[:end].rstrip().removesuffix("</s>") if end < len(text) or text.rstrip().endswith("</s>") else text


def closing_marks(heading: "re.Match[str]") -> str:
    """Return the emphasis that opens before a heading and doesn't close with it, so the action's line ends with it."""
    rest = heading["inside"] + heading["after"]
    return next((mark for mark in ("**", "`", "*") if heading["before"].endswith(mark) and mark not in rest), "")
