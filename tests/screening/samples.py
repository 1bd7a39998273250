"""Sanctions lists in the forms they are published in, with invented names and addresses."""

from __future__ import annotations

from payments.chains.evm import addresses as evm
from payments.chains.stellar import addresses as stellar

ETHEREUM = evm.encode(bytes.fromhex("a1" * 20))
OTHER = evm.encode(bytes.fromhex("b2" * 20))
STELLAR = stellar.encode_account(bytes.fromhex("c3" * 32))
BITCOIN = "1InventedBitcoinAddressNobodyHas34"

SDN = f"""<?xml version="1.0" standalone="yes"?>
<sdnList xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>11/20/2026</Publish_Date><Record_Count>2</Record_Count></publshInformation>
  <sdnEntry>
    <uid>90001</uid><firstName>Invented</firstName><lastName>PERSON</lastName><sdnType>Individual</sdnType>
    <programList><program>CYBER2</program><program>DPRK3</program></programList>
    <idList>
      <id><uid>1</uid><idType>Passport</idType><idNumber>{OTHER}</idNumber></id>
      <id><uid>2</uid><idType>Digital Currency Address - XBT</idType><idNumber>{BITCOIN}</idNumber></id>
      <id><uid>3</uid><idType>Digital Currency Address - ETH</idType><idNumber>{ETHEREUM.lower()}</idNumber></id>
      <id><uid>4</uid><idType>Digital Currency Address - USDC</idType><idNumber>{ETHEREUM}</idNumber></id>
    </idList>
  </sdnEntry>
  <sdnEntry>
    <uid>90002</uid><lastName>INVENTED COMPANY</lastName><sdnType>Entity</sdnType>
    <programList><program>CYBER2</program></programList>
    <idList><id><idType>Digital Currency Address - XLM</idType><idNumber>{STELLAR}</idNumber></id></idList>
  </sdnEntry>
</sdnList>
"""

SDN_ADVANCED = f"""<?xml version="1.0" encoding="utf-8"?>
<Sanctions xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ADVANCED_XML">
  <DateOfIssue CalendarTypeID="1"><Year>2026</Year><Month>11</Month><Day>20</Day></DateOfIssue>
  <ReferenceValueSets><FeatureTypeValues>
    <FeatureType ID="25" FeatureTypeGroupID="1">Title</FeatureType>
    <FeatureType ID="344" FeatureTypeGroupID="1">Digital Currency Address - XBT</FeatureType>
    <FeatureType ID="345" FeatureTypeGroupID="1">Digital Currency Address - ETH</FeatureType>
    <FeatureType ID="999" FeatureTypeGroupID="1">Digital Currency Address - XLM</FeatureType>
  </FeatureTypeValues></ReferenceValueSets>
  <DistinctParties>
    <DistinctParty FixedRef="90001"><Profile ID="90001" PartySubTypeID="4">
      <Identity ID="1" FixedRef="90001" Primary="true"><Alias FixedRef="90001" Primary="true">
        <DocumentedName ID="1">
          <DocumentedNamePart><NamePartValue>PERSON</NamePartValue></DocumentedNamePart>
          <DocumentedNamePart><NamePartValue>Invented</NamePartValue></DocumentedNamePart>
        </DocumentedName></Alias></Identity>
      <Feature ID="1" FeatureTypeID="25">
        <FeatureVersion><VersionDetail>{OTHER}</VersionDetail></FeatureVersion></Feature>
      <Feature ID="2" FeatureTypeID="344">
        <FeatureVersion><VersionDetail>{BITCOIN}</VersionDetail></FeatureVersion></Feature>
      <Feature ID="3" FeatureTypeID="345">
        <FeatureVersion><Comment />
          <VersionDetail DetailTypeID="1432">{ETHEREUM.lower()}</VersionDetail></FeatureVersion>
      </Feature>
    </Profile></DistinctParty>
    <DistinctParty FixedRef="90002"><Profile ID="90002" PartySubTypeID="3">
      <Identity ID="2"><Alias><DocumentedName ID="2">
        <DocumentedNamePart><NamePartValue>INVENTED COMPANY</NamePartValue></DocumentedNamePart>
      </DocumentedName></Alias></Identity>
      <Feature ID="4" FeatureTypeID="999">
        <FeatureVersion><VersionDetail>{STELLAR}</VersionDetail></FeatureVersion></Feature>
    </Profile></DistinctParty>
  </DistinctParties>
  <SanctionsEntries>
    <SanctionsEntry ID="1" ProfileID="90001" ListID="1550">
      <SanctionsMeasure ID="1" SanctionsTypeID="1"><Comment>CYBER2</Comment></SanctionsMeasure>
      <SanctionsMeasure ID="2" SanctionsTypeID="1"><Comment>DPRK3</Comment></SanctionsMeasure>
    </SanctionsEntry>
    <SanctionsEntry ID="2" ProfileID="90002" ListID="1550">
      <SanctionsMeasure ID="3" SanctionsTypeID="1"><Comment>CYBER2</Comment></SanctionsMeasure>
    </SanctionsEntry>
  </SanctionsEntries>
</Sanctions>
"""

SDN_CSV = (
    f'90001,"Invented PERSON","individual","CYBER2, DPRK3",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,"DOB 1 Jan 1990; '
    f"Digital Currency Address - XBT {BITCOIN}; alt. Digital Currency Address - ETH {ETHEREUM.lower()}; "
    f'Passport {OTHER}."\r\n'
    '90002,"INVENTED COMPANY",-0- ,"CYBER2",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,"Digital Currency Address - XLM '
    f'{STELLAR}; Organization Established Date 2020."\r\n\x1a'
)

EU = f"""<?xml version="1.0" encoding="UTF-8"?>
<export xmlns="http://eu.europa.ec/fpi/fsd/export" generationDate="2026-11-20T10:15:00.000+01:00" globalFileId="1">
  <sanctionEntity designationDetails="" euReferenceNumber="EU.90001.1" logicalId="90001">
    <regulation programme="CYB" numberTitle="2026/1 (OJ L1)"/>
    <regulation programme="DPRK" numberTitle="2026/2 (OJ L2)"/>
    <nameAlias firstName="Invented" lastName="PERSON" wholeName="Invented PERSON" strong="true"/>
    <identification number="{ETHEREUM.lower()}" identificationTypeCode="other"><remark>Wallet</remark></identification>
  </sanctionEntity>
  <sanctionEntity euReferenceNumber="EU.90002.1" logicalId="90002">
    <remark>Known wallets: {STELLAR}; and x{OTHER}.</remark>
    <regulation programme="CYB"/>
    <nameAlias wholeName="INVENTED COMPANY"/>
  </sanctionEntity>
</export>
"""

PLAIN = f"""address,name,programme
{ETHEREUM.lower()},Invented PERSON,"CYBER2, DPRK3"
{stellar.mux(STELLAR, 7)},INVENTED COMPANY,CYBER2
{BITCOIN},Invented PERSON,CYBER2
"""
