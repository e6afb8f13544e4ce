"""What the sentences of an agent mean to a user: :class:`Intent`, and the table of words that show it."""

from __future__ import annotations

import re
from enum import Enum

from gem_envs_desk.users.sentences import Sentence

__all__ = ["Intent", "intents_of"]


class Intent(Enum):
    """What the agent does with a sentence."""

    OFFERS_HELP = "asks for the wish"
    ASKS = "asks for something"
    VERIFIES = "asks whether something is so"
    RESTATES = "says what the user wants"
    PROCEEDS = "asks for permission"
    CONFIRMS = "asks for a confirmation, or for data"
    LOOKS_UP = "offers to look something up"
    OFFERS_OTHER = "offers something that nobody asked for"
    NOT_FOUND = "does not find what the user named"
    RECHECKS = "asks to check what the user has said"
    REPEATS = "asks to say it again"
    REFUSES = "refuses"
    PROMISES = "is about to do something"
    DONE = "has done something"
    WAITS = "asks to wait"
    THANKS = "thanks"
    MORE = "asks for further wishes"
    MORE_TO_KNOW = "asks for anything else to know"
    CLOSES = "says goodbye"
    OFFERS_LIST = "lists what there is to choose from"
    CONDITIONAL = "says what would be"
    TESTS = "asks whether it works"
    SMALL_TALK = "is polite"
    CHECKS = "asks a question that is answered by yes or no"


_PARTS = {
    "<not>": (
        r"(?:can't|cannot|can not|couldn't|could not|unable to|not able to|wasn't able to|do not|don't|did not|"
        r"didn't|"
        r"does not|doesn't|failed to)"
    ),
    "<did>": (
        r"(?:(?:i|we)(?:'ve| have| just| now)*|has(?: now| just)?(?: been)?|have(?: now| just)?(?: been)?|"
        r"is(?: now)?|are(?: now)?|was|were|been|successfully|now)"
    ),
    "<deed>": (
        r"(?:cancell?ed|changed|updated|swapped|exchanged|replaced|refunded|returned|credited|paid|processed|"
        r"completed|rebooked|re-booked|moved|upgraded|added|set|booked|filed|opened|submitted|reported|logged|"
        r"recorded|raised|created|issued|arranged|resumed|reactivated|activated|enabled|restored|settled|resolved|"
        r"fixed|done|finished|modified|applied|made|sent|transferred|adjusted|corrected|removed|deleted|reserved|"
        r"registered|granted|compensated|confirmed)"
    ),
    "<look>": (
        r"(?:check|look|see|search|find|verify|review|locate|retrieve|pull|explain|list|show|tell|go over|confirm|"
        r"read|investigate|examine|inspect|calculate|compute)"
    ),
}
"""Parts of the patterns of the table."""

_TABLE: dict[Intent, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Intent.OFFERS_HELP: (
        (
            r"\bhow (?:can|may|could|might) (?:i|we) (?:help|assist|be of)",
            r"\bwhat (?:can|may|could) (?:i|we) (?:do|help)", r"\bhow (?:would you|you'd|"
            r"you would) like (?:to proceed|me to)",
            (r"\bwhat (?:would you like|do you want|do you need|is it that you|are you looking)(?! to (?:have|"
             r"swap|send))"),
            r"\bwhat (?:\w+ )?(?:changes?|modifications?|kind of help|service|assistance)\b", r"\bwhat brings you",
            r"\btell me (?:a (?:bit|little) )?more\b", r"\belaborate\b",
            r"\bwhat(?:'s| is) (?:the (?:problem|matter|issue)|your (?:request|wish|concern|problem|issue)|wrong)",
            (r"\b(?:describe|tell me about|explain|clarify|more (?:details|information) about) (?:your|the|"
             r"what|this) (?:request|issue|problem|wish|concern|situation|is|you)"),
            r"\b(?:provide|share|give)\b.*\b(?:details|information) (?:of|about|regarding) (?:the|your) (?:changes?|"
            r"request|issue|problem)\b",
        ),
        (),
    ),
    Intent.ASKS: (
        (
            r"\?", r"\b(?:could|can|would|will) you\b", r"^\W*(?:and |so |now )?what(?:'s| is| are)\b",
            r"\bplease\b(?! (?:wait|hold|bear|allow|note|be |rest assured|stand by|give me a|take your|feel free|"
            r"let me know if|reach out))",
            (r"\b(?:i|we)(?:'ll| will| would| also| still| first| just|'d)* (?:need|require|like to know|"
             r"have to know)\b(?! to (?:<look>|transfer|process|send|do|make) (?!your|you\b))"
             r"(?! to (?:send|transfer) you)"),
            r"\b(?:is|are) required\b", r"\brequires? (?:your|the)\b", r"\b(?:tell|give|send|show) (?:me|"
            r"us)\b", r"\blet me know (?!if|whether|once|when)",
            r"\bmay i\b", r"\b(?:can|could) i (?:have|get|ask)\b", r"\b(?:provide|share|enter|specify) (?:me|us|"
            r"your|the|it|this|that)\b",
            r"\bspecify\b", r"\bkindly\b", r"\bstate your\b", r"\brepeat\b",
            r"(?:^|\band |\bplease |\bdouble-?|\bre-?)\W*(?:check|confirm|verify|spell)\b", r"\bwithout (?:your|the|"
            r"an?)\b",
        ),
        (
            r"^\W*(?:once|when|after|as soon as) you\b(?!.*\?)(?!.*\bplease\b)",
            (r"\bthank(?:s| you) for (?:providing|sharing|confirming|giving|sending|your)\b(?!.*\?)(?!.*\bplease\b)"
             r"(?!.*\bneed\b)"),
            r"\b(?:wait|hold on|bear with)\b(?!.*\?)", r"\b(?:one|a) (?:moment|second|minute)\b(?!.*\?)",
            r"^\W*(?:let me|i(?:'ll| will| can| am going to)) (?:now )?(?:re-?|double-?)?(?:check|verify|"
            r"confirm)\b(?!.*\?)(?!.*\bplease\b)",
            r"\b(?:no need|not need|don't need|needn't)\b", r"\bif you (?:need|require)\b(?!.*\bplease (?:provide|"
            r"give|tell))",
        ),
    ),
    Intent.VERIFIES: (
        (
            (r"\b(?:is|are|was) (?:that|this|it|these|those|all(?: of)? (?:this|that)|everything|the above|my "
             r"understanding|the information|the following)(?: information| all| still)? (?:correct|right|"
             r"accurate|true|so)\b"),
            (r"[,:–-] ?(?:right|correct|yes|true|is it|isn't it|is that so|do you|don't you|am i right|no|okay|"
             r"ok)\?"),
            r"\b(?:right|correct)\? *$", r"\bam i (?:right|correct|speaking|talking)\b",
            r"\bdid (?:you|i) (?:say|mean|get|hear|understand)\b", r"\bdo i (?:understand|have|get)\b",
            r"\b(?:do )?you (?:mean|live|are called)\b.*\?", r"\bcan you (?:please )?confirm that\b",
            (r"\bconfirm (?:if|that|whether) (?:this|these|that|it|everything|all|the|your|my)\b.*\b(?:correct|"
             r"right|accurate|is|are)\b"),
        ),
        (
            r"\b(?:which|what|who|whom|where|why|when)\b(?! you )",
        ),
    ),
    Intent.RESTATES: (
        (
            (r"\b(?:so|that|confirm|understand|summar\w+|see|,) (?:,|that )?you(?:'d| would| have|'re| are)? "
             r"?(?:now )?(?:like|want|wish|need|asked|asking|request\w*|looking|live|mean|ordered|bought)\b"),
            r"^\W*(?:so,? )?you(?:'d| would)? (?:like|want|wish|live|mean)\b",
            r"\byour (?:new |full |current |last |first )?(?:[\w-]+ ){1,3}(?:is|are|was|will be)\b",
            r"\bto confirm\b", r"\bto summari[sz]e\b", r"\bin summary\b",
            r"\b(?:following|these) (?:details|changes|information)\b",
        ),
        (),
    ),
    Intent.PROCEEDS: (
        (
            r"\b(?:proceed|go ahead)\b.*\?", r"\bif you(?:'d| would) (?:like|want|wish|prefer) (?:to|me to)\b",
            r"\b(?:shall|should|may) (?:i|we)\b(?! (?:have|know|ask|get|see|please))",
            (r"\b(?:can|could) (?:i|we) (?:now |then |please )?(?!have|know|ask|get|help|assist|see|"
             r"confirm)\w+.*\?"),
            (r"\b(?:do|would|did) you (?:also |still )?(?:like|want|wish|prefer|agree|confirm|approve|"
             r"consent)(?: me| us)?(?: to|\?|,| that| with)(?! (?:swap it|send it|have it|fly|know|say))"),
            r"\byes or no\b", r"\byes/no\b", r"\(y/n\)", r"\byou(?:'d| would) like me to (?:proceed|go ahead|"
            r"continue)\b",
            r"\b(?:say|saying|reply|answer|respond|type|write)(?: with)?(?: a)? [\"']?yes\b",
            r"\bconfirm (?:with|by) (?:a )?",
            r"\bis (?:that|this|it) (?:ok|okay|fine|all right|alright|acceptable|good)\b",
            r"\b(?:does|do|would|will) (?:that|this|these|it) (?:work for|sound|look (?:right|good|ok)|suit)\b",
            r"\bare you (?:sure|happy|ok|okay|fine|all right|ready|in agreement)\b",
            r"\b(?:ok|okay|fine|all right|alright) with you\b",
            (r"\b(?:have|with|need|give me|ask for) your (?:permission|consent|approval|confirmation|agreement|"
             r"go-ahead|ok|yes)\b"),
            (r"\bconfirm (?:and|so|to|that you|if you|whether you|you (?:want|wish|would)|this|these|the "
             r"(?:change|cancell?ation|refund|swap|return|upgrade|details))\b"),
            (r"\blet me know (?:if|whether) (?:you(?:'d| would) like (?:me )?to|i should|i may|i can|that's|"
             r"this is|that is)\b"),
            (r"\bif (?:so|you agree|you confirm|that is (?:ok|okay|fine|right|correct)|this is (?:ok|okay|fine|"
             r"right|correct))\b"),
        ),
        (
            r"\blike to (?:know|learn)\b", r"\banything else\b", r"\bconfirm your (?:identity|e-?mail)\b",
            r"\bis it (?:ok|okay) now\b", r"\bany other\b", r"\bwant further\b",
            r"^\W*(?:and |so )?(?:which|what|why|where|when|whom?|whose|how)\b",
            r"\b(?:which|what|why|where|when|whom?|how)\b.*\b(?:do|would|did) you\b",
            r"\b(?:how|what) (?:can|may|could|might) (?:i|we)\b", r"\b(?:which|what)\b.*\byou(?:'d| would) like\b",
            r"\b(?:could|can|would|will) you (?:please |kindly )?(?:provide|give|tell|share|send|specify|"
            r"let me know|check|explain|repeat)\b",
        ),
    ),
    Intent.CONFIRMS: (
        (
            r"\bconfirm\b", r"\bconfirmation\b",
        ),
        (
            r"\bi(?:'ll| will| can|'ve| have| need to)? confirm\b", r"\bconfirm (?:which|what|when|where|how|your|"
            r"a few)\b",
            r"\bconfirm the (?:payment|option|following|reason|address|order|number|booking|code)\b",
        ),
    ),
    Intent.LOOKS_UP: (
        (
            r"\b(?:shall|should|may|can|could) (?:i|we) (?:now |first |please )?<look>\b",
            r"\b(?:do|would) you (?:like|want|wish) (?:me|us) to (?:first |now )?<look>\b",
        ),
        (),
    ),
    Intent.OFFERS_OTHER: (
        (
            r"\b(?:human|live|customer service) (?:agent|representative|colleague|"
            r"support)\b", r"\bsupervisor\b", r"\bmanager\b",
            r"\bcolleague\b", r"\bspecialist\b", r"\btransfer(?:red|ring)? you\b", r"\bescalate\b", r"\bnewsletter\b",
            r"\bsurvey\b", r"\bsubscri(?:be|"
            r"ption)\b", r"\bwarranty\b", r"\bgift ?wrap\w*\b", r"\bvoucher\b", r"\bas an exception\b",
            r"\b(?:purchase|add|buy|get|include) (?:\w+ )?insurance\b", r"\bstore credit\b", r"\b(?:offer|issue|"
            r"issuing|offering) (?:you )?an? \w*\s?(?:certificate|discount)\b",
            r"\binstead\b", r"\b(?:an? |other |consider |explore |search for |look for |find )(?:alternative|"
            r"different|other|another) "
            r"(?:flights?|items?|products?|options?|dates?|solutions?|possibilities)\b", r"\banother (?:option|"
            r"flight|item|product|solution)\b",
        ),
        (),
    ),
    Intent.NOT_FOUND: (
        (
            (r"\b<not> (?:seem to |be able to |currently )?(?:find|locate|see|match|identify|recogni[sz]e|"
             r"retrieve|pull up|look up|trace|verify|get)\b"),
            r"\bfind no\b", r"\bfound no(?:thing)?\b", r"\bno such\b", r"\bnothing (?:found|comes up|under)\b",
            (r"(?:\bnot|n't|\bnever) (?:be |been |to be |seem to )?(?:found|exist|match\w*|show(?:ing)? up|"
             r"com(?:e|ing) up|valid|in (?:our|my|the) (?:system|records?|database)|on file|registered|"
             r"correct)\b"),
            (r"\b(?:is|was|seems?|appears?|looks?|must|may|might|could)(?: to)?(?: be)? (?:wrong|incorrect|"
             r"invalid|mistyped|misspelled|a typo)\b"),
            (r"\bthere(?:'s| is| are| was) no (?:\w+ )?(?:order|booking|customer|account|reservation|record|"
             r"line|number|profile|user)\b"),
            (r"\bno (?:\w+ ){0,2}(?:order|booking|customer|account|reservation|record|match|result|line|"
             r"profile|user)s?\b(?: \w+)* (?:found|with|under|for|match\w*|exists?|has|have|by)\b"),
            r"\b(?:wrong|incorrect|invalid) (?:number|code|order|booking|e-?mail|address|name|zip|id)\b",
            r"\bdoes not belong\b", r"\bdoesn't belong\b",
        ),
        (
            (r"\b(?:see|find|locate|get) (?:your |the |any |a |what |inside )?(?:way|reason|exception|"
             r"alternative\w*|flights?|seats?|options?|phone|screen|device|display|settings|is on|variant|why|"
             r"stock|signal|reception|connection|internet|data)\b"),
            r"\bif (?:you|it|that)\b.*\b(?:wrong|incorrect|not correct|isn't correct)\b",
            r"\bget (?:a|the|your) (?:refund|money|full)", r"(?:\bnot|n't) (?:valid|correct|get) (?:for|to|it)\b",
            r"\bmatch the (?:policy|conditions|criteria)", r"\bwhat (?:is|seems)\b",
        ),
    ),
    Intent.RECHECKS: (
        (
            (r"(?:^\W*|\b(?:please|kindly|could you|can you|would you|you|to|and) )(?:please )?"
             r"(?:double[- ]?check|re-?check|check|verify|confirm|spell|look at|have (?:a|another) look at)\b.*"
             r"\b(?:number|code|e-?mail|address|name|zip|postcode|it|that|again|spelling|details?|information|data|id)\b"),
            r"\b(?:right|correct) (?:number|code|order|booking|e-?mail|one|information|details)\b.*\?",
            r"\bare you sure\b.*\b(?:number|code|e-?mail|address|name|zip|right|correct|of that)\b",
            (r"\b(?:try|provide|give|send|have|tell) (?:me |us )?(?:another|a different|the correct|the right|"
             r"a valid|a correct|an other)\b"),
            r"\b(?:provide|give|share|send|enter|try|state)\b.*\bagain\b",
        ),
        (
            r"^\W*(?:i(?:'ll| will| am|'m| have)|let me|shall i|may i|can i|could i|do you want me|one moment|"
            r"thank)\b",
            r"\bwould you like\b", r"\b(?:want|like|need) to (?:check|verify|"
            r"confirm)\b", r"\bprofile\b", r"\bcontact\b",
            r"\bi(?:'ll| will| can| have|'ve| need| must)\b(?:(?!\bplease\b|\bcould you\b|\bcan you\b).)*$",
        ),
    ),
    Intent.REPEATS: (
        (
            (r"\b(?:repeat (?:that|it|yourself|what|please)|say (?:that|it) again|pardon\b|come again|(?:did "
             r"not|didn't|don't|do not) (?:quite )?(?:understand|catch|get) (?:that|you|it|what)|rephrase|what "
             r"(?:did|do) you (?:say|mean))"),
            r"\brepeat\b.*\bplease\b", r"\bplease\b.*\brepeat\b",
        ),
        (),
    ),
    Intent.REFUSES: (
        (
            r"\bcannot\b", r"\bcan't\b", r"\bcan not\b", r"\b(?:am|are|is|'m|"
            r"'re) unable\b", r"\bunable to\b", r"\bnot able to\b",
            r"\bwon't be able to\b", r"\b(?:not|isn't) possible\b", r"\bimpossible\b", r"\b(?:not|isn't|"
            r"aren't) (?:allowed|eligible)\b",
            r"\bnot permitted\b", r"\bineligible\b", r"\bnot entitled\b", r"\bagainst (?:our|the) (?:policy|"
            r"rules?)\b",
            r"\bnot covered\b", r"\bnot refundable\b", r"\bnon-?refundable\b",
            r"\b(?:must|have to|has to|need to) (?:refuse|decline|deny|reject|turn (?:this|that|it) down)\b",
            r"\b(?:is|are|be|been) (?:refused|declined|denied|rejected)\b",
            r"\b(?:does not|doesn't|do not|don't) (?:allow|permit|qualify|meet|let me|offer|cover|"
            r"make exceptions?)\b",
            r"\bno exceptions?\b", r"\b(?:not|n't) make (?:an )?exceptions?\b", r"\bthere (?:is|"
            r"are) no (?:\w+ )?(?:options?|way|compensation|refund)\b",
            r"\bwill not (?:be )?(?:\w+ed|do|make)\b", r"\bnot going to\b", r"\b(?:beyond|outside) (?:the|of|my|our|"
            r"what)\b",
            r"\bonly (?:possible|allowed|permitted)\b", r"\bcan only (?:assist|help)\b",
            r"\b(?:has|have) (?:expired|passed|ended)\b", r"\btoo late\b", r"\brefuse\b", r"\bno way to\b",
            r"\bthere is nothing (?:more )?(?:that )?(?:i|we) can\b", r"\b(?:will|'ll|going to|"
            r"am) (?:now )?transfer(?:ring)? you\b",
            r"\byou are being transferred\b", r"\brecommend (?:contacting|reaching out|that you contact|speaking)\b",
        ),
        (
            r"\b(?:undone|reversed|reverted|taken back)\b",
            (r"\bonce (?:i|you|we|it|this|that|the|confirmed|cancell?ed|done|modified|changed|processed|"
             r"completed)\b"),
            (r"\b(?:cannot|can't|not be able to|not be)\b.*\b(?:again|later|afterwards?|any ?more|further|"
             r"in (?:the )?future|after (?:this|that|confirm\w*|it))\b"),
            r"\b(?:cannot|can't|unable|not able)\b.*\bwithout (?:your|the|an?|this|that|verif\w+|knowing|first|it|"
            r"any|more|further|confirm\w*|permission)\b",
            r"\buntil (?:you|i|we|your)\b", r"\bbefore (?:i|we|you)\b", r"\bif\b.*\b(?:cannot|can't)\b",
            (r"\b(?:see|access|change|control|touch|reach|look at|operate|do (?:that|this|it)|turn|"
             r"adjust)\b.*\b(?:phone|device|screen|settings)\b"),
            r"\b(?:can't|cannot) wait\b", r"\bno problem\b", r"\b(?:do not|don't) (?:let|meet) (?:you|it)",
            r"\byou (?:can't|cannot) (?:connect|load|use|get online|call|find|remember)",
            r"\bcan't (?:connect|load|you)\b", r"^\W*why\b", r"\bonly if\b.*\?",
        ),
    ),
    Intent.PROMISES: (
        (
            (r"\b(?:i|we)(?:'ll| will| shall| am going to|'m going to| am about to|'m about to| can|'d| could| "
             r"would)\b"),
        ),
        (
            r"\bi(?:'ll| will) (?:need|require|be happy|be glad|wait|be here)\b", r"\bonce\b", r"\bif\b",
        ),
    ),
    Intent.DONE: (
        (
            r"\b<did> (?:successfully |already |now |just |fully |all |been |also )*<deed>\b",
            r"\ball (?:set|done|sorted|settled)\b", r"\btaken care of\b",
            r"\bis (?:now )?(?:complete|active|inactive|in place|on its way|as you (?:wish|want|asked))\b",
            r"\bwent through\b",
            (r"\b(?:that|it|this|everything)(?:'s| is| has been) (?:now )?(?:done|set|settled|sorted|finished|"
             r"complete|arranged|ready)\b"),
            r"\bsuccessful(?:ly)?\b", r"\bi did (?:it|that|so)\b",
            r"\b(?:it|this|that) (?:now )?(?:goes|can roam|will be (?:sent|delivered|refunded|credited))\b",
            (r"\byou(?:'ll| will) (?:receive|get|be (?:refunded|reimbursed|credited)|have the money|see the "
             r"(?:refund|money))\b"),
            r"\byou (?:now )?(?:get|are) (?:back|booked|rebooked|upgraded)\b",
            r"\byour new (?:flight|booking|seat) is\b",
            (r"\b(?:back office|team|colleagues?) (?:will|is going to) (?:look|get|contact|investigate|handle|"
             r"trace|take)\b"),
            r"\bhave (?:a|the) (?:case|ticket|report) (?:open|filed)\b",
            r"^\W*(?:done|yes,? (?:it is|it's|i have|it has)|completed|finished)\b",
        ),
        (
            r"\bonce\b", r"\bif\b", r"\bwhen\b", r"\bunless\b", r"\bbefore\b", r"\buntil\b", r"\bcannot\b",
            r"\bcan't\b", r"\bnot\b", r"\bn't\b", r"\bunable\b", r"\bshall\b", r"\bshould\b", r"\bwould\b",
            r"\bcould\b", r"\bmay i\b", r"\bto be\b", r"\bnever\b", r"\bidentity\b",
            r"\baccount has been (?:found|verified)\b", r"\bplease\b", r"\bwant(?:ed)?\b", r"\bwish\b", r"\blike\b",
            (r"\b(?:has|have|was|is|are|were) (?:been )?(?:found|located|verified|checked|placed|delivered|"
             r"made|booked|set|paid|sent|moved) (?:on|by|in|with|to|for|from|under|more|less|within|at)\b"),
            r"\?", r"\brequest to\b", r"\bwas cancell?ed by\b", r"\b(?:hope|soon|assume|believe|seems?)\b",
            (r"\b(?:confirmed|made|sent|set|changed|settled|added) (?:your identity|that|a (?:note|mistake)|"
             r"up)\b"),
            r"\bwhat\b",
        ),
    ),
    Intent.WAITS: (
        (
            r"\b(?:one|a|just a|another) (?:moment|second|minute|sec|bit)\b",
            r"\bplease (?:wait|hold|bear|allow|stand by|be patient)", r"\bhold on\b", r"\bbear with me\b",
            (r"\blet me (?:just |now |quickly |first )?(?:check|look|see|find|pull|verify|do|get|take|review|"
             r"search|process|go|try|have|fetch|confirm|start|access|locate|gather|retrieve|proceed)\b"),
            (r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'m| am)(?: now| just| quickly| first)? "
             r"<look>(?:ing)?\b"),
            r"\b(?:checking|looking|searching|verifying|processing)\b.*(?:\.\.\.|now|…)", r"\bon it\b",
            r"\bworking on (?:it|that|this)\b",
        ),
        (),
    ),
    Intent.THANKS: (
        (
            r"\b(?:thanks|thank you|much appreciated|i appreciate)\b",
        ),
        (),
    ),
    Intent.MORE: (
        (
            r"\b(?:any|some)thing (?:else|more|further)\b",
            (r"\bany (?:other|more|further|additional) (?:\w+ )?(?:questions?|requests?|help|issues?|concerns?|"
             r"matters?|wish\w*|needs?|assistance|changes?|problems?|things?|ways?|support)\b"),
            r"\bfurther (?:help|assist\w*|requests?|questions?|support)\b",
            r"\b(?:what|how) else (?:can|may|could)\b", r"\bwhat else\b",
            r"\b(?:need|require|want) (?:any )?(?:more|additional) (?:help|assist\w*)\b",
            r"\b(?:is|was|will|would) (?:that|this) (?:be )?(?:all|everything)\b", r"\ball for (?:today|now)\b",
            r"\b(?:is|are) (?:you|everything) (?:all )?(?:set|settled|sorted)\b.*\?",
            r"\bif you (?:have|need) (?:any )?(?:questions?|more|assistance|help)\b",
            r"\bany other (?:orders?|bookings?|reservations?|flights?|items?) (?:that )?you\b",
            r"\bcan i close (?:this|the)\b",
            r"\b(?:close|end) (?:this|the|our) (?:chat|conversation|contact|ticket|case)\b.*\?",
        ),
        (
            r"\banything else (?:that )?(?:i|we) (?:should|need|ought|must|have to)\b",
            r"\banything (?:else|more) (?:wrong|on|you (?:can )?see|about (?:the|your|it|this))\b",
            r"\bany other (?:changes?) (?:to|on) (?:the|your) phone\b", r"\bif you (?:have|need)\b.*\bonce\b",
            r"\btransfer\b", r"\bhuman agent\b",
        ),
    ),
    Intent.MORE_TO_KNOW: (
        (
            r"\banything (?:else|more) (?:that )?(?:i|we) (?:should|need|ought|must|have to)\b",
        ),
        (),
    ),
    Intent.CLOSES: (
        (
            r"\bgood ?bye\b", r"\bbye\b", r"\bfarewell\b", r"\btake care\b",
            (r"\bhave a (?:\w+ )?(?:day|one|evening|weekend|trip|flight|journey|time|night|afternoon|morning|"
             r"week)\b"),
            r"\benjoy your\b", r"\bsafe travels\b", r"\buntil next time\b",
            r"^\W*see you\b", r"\bsee you (?:soon|later|again|then)\b",
            r"\bthe (?:chat|conversation|contact) is (?:now )?(?:over|closed)\b",
        ),
        (),
    ),
    Intent.OFFERS_LIST: (
        (
            r"\boptions?\b", r"\bavailable\b", r"\bchoose\b", r"\bchoice\b", r"\bin stock\b",
            r"\bwhich (?:one|of|flights?|orders?|bookings?|items?)\b",
            r"\bfollowing (?:flights|orders|bookings|items|reservations|variants)\b",
            r"\byou have (?:the following|these|several|two|three|four|\d)\b",
            r"\byour (?:orders|bookings|reservations) are\b", r"\bhere are (?:the|your|some|all)\b",
            r"\bi (?:see|found|find) (?:several|two|three|four|multiple|the following|these)\b",
            r"\bor (?:another|something)\b",
        ),
        (
            r"\b(?:details|changes|summary)\b",
        ),
    ),
    Intent.CONDITIONAL: (
        (
            r"^\W*(?:if|once|when|after|as soon as|unless|in case|whenever|should you|before)\b",
        ),
        (
            (r"^\W*(?:if|when|once|after|before)\b[^,]*,.*\b(?:please|turn|switch|set|take|remove|go|pay|"
             r"restore)\b"),
        ),
    ),
    Intent.TESTS: (
        (
            (r"\b(?:does|is|do|did|can|has|are) (?:it|that|the (?:internet|connection|data|mobile data|problem|"
             r"issue)|your (?:internet|connection|data|mobile data|phone)|you|this|everything)\b.*\b(?:work\w*|"
             r"connect\w*|load\w*|help|online|fixed|resolved|better|back|solved|gone|browse)\b.*\?"),
            (r"\b(?:try|test)\b.*\b(?:again|now|internet|connection|data|it|website|page|browsing|loading|"
             r"something|speed)\b"),
            r"\b(?:open|load|visit|browse)\b.*\b(?:page|website|site|browser|internet|app|video)\b",
            r"\bspeed ?test\b",
            (r"\b(?:check|see|confirm|verify|know) (?:if|whether|that)\b.*\b(?:works?|working|connects?|loads?|"
             r"restored|back|online|fixed|resolved)\b"),
            r"\bshould (?:now )?(?:work|be working|be (?:back|fixed|online))\b", r"\bsee if (?:it|the|your|that)\b",
        ),
        (
            r"\byou (?:like|want|abroad|sure|ready)\b", r"\bit (?:a|an|at)\b",
        ),
    ),
    Intent.SMALL_TALK: (
        (
            r"\bsorry\b", r"\bapologi[sz]e\b", r"\bunderstand\b", r"\bhello\b", r"\bhi\b",
            r"\bgood (?:morning|day|afternoon|evening)\b", r"\bwelcome\b", r"\bglad\b", r"\bhappy\b",
            r"\bpleasure\b", r"\bof course\b", r"\bcertainly\b", r"\bsure\b", r"\bgreat\b", r"\bperfect\b",
            r"\bno problem\b", r"\bmy name is\b", r"\bi am your\b", r"\bnice\b", r"\bdon't worry\b",
            r"\bpatience\b",
        ),
        (),
    ),
}  # fmt: skip
"""Intent → the words that show it, and those that show that it is something else after all."""


def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    text = "|".join(patterns)
    for part, words in _PARTS.items():
        text = text.replace(part, words)
    return re.compile(text)


_COMPILED = tuple((intent, _compiled(shows), _compiled(unless)) for intent, (shows, unless) in _TABLE.items())


def intents_of(sentence: Sentence) -> frozenset[Intent]:
    """Return all that a sentence can mean."""
    text = sentence.text
    return frozenset(
        intent
        for intent, shows, unless in _COMPILED
        if shows is not None and shows.search(text) and not (unless is not None and unless.search(text))
    )
